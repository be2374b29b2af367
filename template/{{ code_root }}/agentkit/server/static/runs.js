// Runs: the list, newest first, and one run as a timeline.

import { getJson } from "./api.js";
import { byId, make } from "./dom.js";
import { duration, moment, money, plural, tokens } from "./format.js";
import { timeScale } from "./time_scale.js";

const PAGE = 30;

/** Show the newest runs. */
export async function openRuns() {
  byId("run-list").replaceChildren();
  await addRuns("");
}

/** Show one run. */
export async function openRun(id) {
  byId("run-facts").replaceChildren();
  byId("timeline").replaceChildren();
  const run = await getJson(`runs/${encodeURIComponent(id)}`);
  byId("run-title").textContent = run.title || run.run_id;
  byId("run-facts").replaceChildren(...facts(run));
  byId("timeline").replaceChildren(...rows(run.timeline));
}

async function addRuns(after) {
  const { runs } = await getJson(`runs?limit=${PAGE}${after}`);
  byId("run-list").append(...runs.map(line));
  byId("no-runs").hidden = byId("run-list").childElementCount > 0;
  const more = byId("more-runs");
  more.hidden = runs.length < PAGE;
  more.onclick = () => addRuns(`&after=${encodeURIComponent(runs.at(-1).run_id)}`);
}

function line(run) {
  const amounts = [
    plural(run.calls, "call"),
    `${tokens(run.input_tokens, run.output_tokens)} tokens`,
    money(run.cost_usd),
    duration(run.seconds),
  ];
  const link = make(
    "a",
    { href: `#/runs/${run.run_id}` },
    make("span", { class: "title" }, run.title || run.run_id),
    make("span", { class: isFine(run) ? "outcome" : "outcome failed" }, outcome(run)),
    make("span", { class: "muted" }, [moment(run.started), run.model].filter(Boolean).join(" · ")),
    make("span", { class: "muted" }, amounts.join(" · ")),
  );
  return make("li", {}, link);
}

const isFine = (run) => run.outcome === "stop";
const outcome = (run) => (isFine(run) ? "answered" : run.outcome);

function facts(run) {
  const pairs = {
    Began: run.started && new Date(run.started).toLocaleString(),
    Outcome: outcome(run),
    Model: run.model,
    Calls: String(run.calls),
    Tokens: tokens(run.input_tokens, run.output_tokens),
    Cost: money(run.cost_usd),
    Time: duration(run.seconds),
    Run: run.run_id,
  };
  return Object.entries(pairs).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value ?? "unknown")),
  );
}

function rows(timeline) {
  const { place, pauses } = timeScale(timeline);
  return timeline.flatMap((step, index) => {
    const pause = pauses.get(index);
    const row = stepRow(step, place(step));
    return pause ? [make("li", { class: "pause" }, `${duration(pause)} later`), row] : [row];
  });
}

function stepRow(step, { from, width }) {
  const bar = make("span", { class: "bar-fill" });
  bar.style.marginInlineStart = `${from}%`;
  bar.style.width = `${width}%`;
  const line = [
    make("span", { class: "kind" }, step.kind),
    make("span", { class: "title" }, step.name),
    make("span", { class: "track", "aria-hidden": "true" }, bar),
    make("span", { class: "muted amounts" }, amounts(step)),
  ];
  const kind = `step-${step.kind}${step.error ? " failed" : ""}`;
  return make("li", { class: kind }, ...foldable(line, [step.error, step.text].filter(Boolean)));
}

/** Return a line that unfolds to the texts, or just a line where there are none. */
function foldable(line, texts) {
  if (texts.length === 0) return [make("div", { class: "fold line" }, ...line)];
  const inside = texts.map((text) => make("pre", { tabindex: "0" }, text));
  const summary = make("summary", { class: "line" }, ...line);
  return [make("details", { class: "fold" }, summary, make("div", { class: "inside" }, ...inside))];
}

function amounts(step) {
  const parts = [duration(step.seconds)];
  if (step.input_tokens !== null) parts.push(tokens(step.input_tokens, step.output_tokens));
  if (step.cost_usd !== null) parts.push(money(step.cost_usd));
  return parts.join(" · ");
}
