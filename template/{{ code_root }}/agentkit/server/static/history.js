// A stored conversation, drawn as if it had just been streamed.

import { createTurn, userMessage } from "./turn.js";

/** Append the messages of a session to an element. */
export function drawHistory(element, messages) {
  let turn = null;
  for (const { role, parts } of messages) {
    if (role === "user") {
      turn?.close();
      turn = createTurn();
      element.append(userMessage(parts), turn.element);
    } else {
      for (const part of parts) turn?.show(eventOf(part));
    }
  }
  turn?.close();
}

function eventOf(part) {
  if (part.type === "tool_call") return { ...part, type: "tool_started" };
  if (part.type === "tool_result") return { ...part, type: "tool_finished", id: part.call_id };
  return part;
}
