// One answer of the agent: text, thinking and tools in the order in which they came.

import { announce, make } from "./dom.js";
import { duration, money, tokens } from "./format.js";
import { createTool } from "./tool.js";

const ENDINGS = {
  length: "Cut off: the model reached its token limit.",
  refused: "The model refused to answer.",
  blocked: "The provider blocked the answer.",
  empty: "The model said nothing.",
  max_steps: "Stopped: the agent used all of its steps.",
  limit: "Stopped: the limit of cost or tokens is reached.",
  invalid: "The answer does not have the form that was asked for.",
};

/** Return the element of a user's message. */
export function userMessage(parts) {
  const heading = make("h3", { class: "unseen" }, "You");
  return make("article", { class: "turn user" }, heading, ...parts.map(shown));
}

/** Return an answer that `show(event)` fills; `approve(callId, approved)` answers its questions. */
export function createTurn(approve) {
  const element = make("article", { class: "turn" }, make("h3", { class: "unseen" }, "Agent"));
  const open = []; // tools that run; two may have the same id, the first is answered first
  let sinceCall = []; // what a retry takes back
  let current = null; // the kind of the last block
  let piece = null; // the text that the next piece of its kind is added to
  let unwritten = ""; // of it; drawn once a frame, since each change lays the whole text out anew

  function flush() {
    if (unwritten) piece.appendData(unwritten);
    unwritten = "";
  }

  function add(block, kind) {
    element.append(block);
    current = kind;
    return block;
  }

  function write(kind, text) {
    if (current !== kind) {
      flush();
      piece = document.createTextNode("");
      const block = kind === "text" ? make("div", { class: "text" }, piece) : thoughts(piece);
      sinceCall.push(add(block, kind));
    }
    if (!unwritten) requestAnimationFrame(flush);
    unwritten += text;
  }

  function isShown(text) {
    flush();
    const blocks = [...element.querySelectorAll(".text")];
    const isStreamed = blocks.some((block) => sinceCall.includes(block));
    return isStreamed || blocks.map((block) => block.textContent).join("").includes(text);
  }

  function startTool({ id, name, arguments: args }) {
    sinceCall = [];
    const tool = createTool(name, args);
    open.push({ id, tool });
    add(tool.element, "tool");
    return tool;
  }

  const find = (id) => open.find((running) => running.id === id)?.tool;

  function note(text, kind = "note") {
    add(make("p", { class: kind }, text), kind);
  }

  const handlers = {
    text: (event) => write("text", event.text),
    thinking: (event) => write("thinking", event.text),
    tool_started(event) {
      startTool(event);
      announce(`Using ${event.name}`);
    },
    tool_progress: (event) => find(event.id)?.progress(event.done, event.total, event.message),
    approval_needed: (event) =>
      (find(event.id) ?? startTool(event)).ask((approved) => approve(event.id, approved)),
    tool_finished(event) {
      const index = open.findIndex(({ id }) => id === event.id);
      if (index < 0) return;
      open.splice(index, 1)[0].tool.finish(event.text, event.is_error, event.seconds);
    },
    retrying(event) {
      for (const block of sinceCall) block.remove();
      sinceCall = [];
      note(`Trying again${event.delay ? ` in ${duration(event.delay)}` : ""}: ${event.reason}`);
    },
    final(event) {
      if (!isShown(event.text)) write("text", event.text); // not every provider streams
      if (ENDINGS[event.finish_reason]) note(ENDINGS[event.finish_reason]);
      element.append(footer(event));
      announce(event.text || ENDINGS[event.finish_reason] || "Done.");
    },
  };

  function fail(text, kind = "alert") {
    close();
    note(text, kind);
    announce(text);
  }

  function close() {
    for (const { tool } of open.splice(0)) tool.breakOff();
  }

  const show = (event) => handlers[event.type]?.(event);
  return { element, show, fail, close, isEmpty: () => current === null };
}

function thoughts(text) {
  const summary = make("summary", {}, "Thinking");
  return make("details", { class: "fold" }, summary, make("div", { class: "inside" }, text));
}

function footer({ model, usage, cost_usd, run_id }) {
  const count = tokens(usage.input_tokens, usage.output_tokens);
  const run = run_id && make("a", { href: `#/runs/${run_id}` }, "run");
  const facts = [model, `${count} tokens`, money(cost_usd), run].filter(Boolean);
  return make("footer", {}, ...facts.map((fact) => make("span", {}, fact)));
}

function shown(part) {
  const text = part.type === "image" ? `(an image of ${part.bytes} bytes)` : part.text;
  return make("div", { class: "text" }, text);
}
