// One tool call: folded to a line, with its arguments and its result inside.

import { announce, make } from "./dom.js";
import { asText, duration } from "./format.js";

/** Return a tool call's element and what can happen to it. */
export function createTool(name, args) {
  const preview = make("span", { class: "preview" }, previewOf(args));
  const state = make("span", { class: "state" }, "running");
  const body = make("div", { class: "inside" }, labelled("Arguments", asText(args)));
  const fold = make(
    "details",
    { class: "fold tool" },
    make("summary", {}, make("span", { class: "name" }, name), preview, state),
    body,
  );
  const element = make("div", { class: "step" }, fold);
  let question = null;

  function settle(text, kind) {
    question?.remove();
    state.textContent = text;
    fold.dataset.state = kind;
  }

  return {
    element,
    progress(done, total, message) {
      const share = total ? `${Math.round((100 * done) / total)} %` : "";
      state.textContent = [share, message].filter(Boolean).join(" ") || "running";
    },
    ask(answer) {
      settle("waits for you", "waiting");
      question = approval(name, args, answer);
      element.append(question);
      question.scrollIntoView({ block: "nearest" });
      announce(`The agent asks to use ${name}. Approve or deny, above the message field.`);
    },
    finish(text, isError, seconds) {
      const time = seconds === undefined ? "" : ` in ${duration(seconds)}`;
      settle((isError ? "failed" : "done") + time, isError ? "failed" : "done");
      body.append(labelled(isError ? "Error" : "Result", text || "(empty)"));
    },
    breakOff() {
      settle("broken off", "failed");
    },
  };
}

function previewOf(args) {
  return Object.entries(args ?? {})
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(" ");
}

function labelled(title, text) {
  return make("div", {}, make("h4", {}, title), make("pre", { tabindex: "0" }, text));
}

/** Return the question whether the tool may run; `answer(approved)` tells whether it arrived. */
function approval(name, args, answer) {
  const enable = (enabled) => {
    for (const button of box.querySelectorAll("button")) button.disabled = !enabled;
  };
  const decide = (approved) => async () => {
    enable(false);
    if (!(await answer(approved))) enable(true);
  };
  const box = make(
    "div",
    { class: "approval", role: "group", "aria-label": `Approval of ${name}` },
    make("p", {}, "May the agent use ", make("strong", {}, name), " with this?"),
    make("pre", { tabindex: "0" }, asText(args)),
    make("button", { type: "button", class: "approve", onclick: decide(true) }, "Approve"),
    make("button", { type: "button", class: "deny", onclick: decide(false) }, "Deny"),
  );
  return box;
}
