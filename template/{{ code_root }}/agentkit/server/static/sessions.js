// The list of chats at the side.

import { getJson, request } from "./api.js";
import { byId, make, showProblem } from "./dom.js";
import { moment } from "./format.js";

let latest = 0; // of several answers under way only the last one counts
let forget = () => {};

/** Tell who has to know that a chat is about to be deleted. */
export function startSessions(onDelete) {
  forget = onDelete;
}

/** Draw the list anew, with the chat marked that the address names. */
export async function refreshSessions() {
  const turn = ++latest;
  try {
    const { sessions } = await getJson("sessions");
    if (turn !== latest) return;
    byId("sessions").replaceChildren(...sessions.map(entry));
    byId("no-sessions").hidden = sessions.length > 0;
  } catch (error) {
    showProblem(error.message);
  }
}

function entry({ session_id: id, title, updated }) {
  const name = title || "Untitled chat";
  const address = `#/chat/${id}`;
  const link = make(
    "a",
    { href: address, "aria-current": address === location.hash && "page" },
    make("span", { class: "title" }, name),
    make("span", { class: "muted" }, moment(updated)),
  );
  const act = () => remove(id, name);
  const button = make("button", { type: "button", "aria-label": `Delete ${name}`, onclick: act }, "×");
  return make("li", {}, link, button);
}

async function remove(id, name) {
  if (!confirm(`Delete the chat "${name}"?`)) return;
  forget(id);
  try {
    await request("DELETE", `sessions/${encodeURIComponent(id)}`);
  } catch (error) {
    showProblem(error.message);
  }
  await refreshSessions();
  byId("new-chat").focus();
}
