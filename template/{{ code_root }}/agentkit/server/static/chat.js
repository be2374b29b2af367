// The conversation: what was said, the field below it, and the turn that runs.

import { getJson, request, stream } from "./api.js";
import { announce, byId, make, showProblem } from "./dom.js";
import { drawHistory } from "./history.js";
import { refreshSessions } from "./sessions.js";
import { createTurn, userMessage } from "./turn.js";

const running = new Map(); // conversations with a turn under way, by session id
let current = begin(null);
let opening = 0; // only the chat that was asked for last is shown

/** Show a session, or with null a new one. */
export async function openChat(id) {
  const turn = ++opening;
  let next = id === null ? begin(null) : id === current.id ? current : running.get(id);
  next ??= await load(id);
  if (turn !== opening) return;
  current = next;
  byId("turns").replaceChildren(current.element);
  showState();
  scrollDown();
}

/** Let go of a session that is going to be deleted. */
export function forget(id) {
  running.get(id)?.stop.abort();
  if (current.id === id) location.hash = "#/chat";
}

/** Connect the form and the keys. */
export function startChat() {
  byId("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  byId("question").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  byId("stop").addEventListener("click", stopTurn);
}

/** Break off the answer that is shown, if it is under way; the server ends its run, too. */
export function stopTurn() {
  current.stop?.abort();
}

/** Put the cursor into the field, except where that opens a keyboard on the screen. */
export function focusQuestion() {
  const target = matchMedia("(hover: hover)").matches ? "question" : "chat-title";
  byId(target).focus({ preventScroll: true });
}

function begin(id) {
  return { id, element: make("div", { class: "turns" }), stop: null };
}

async function load(id) {
  try {
    const { messages } = await getJson(`sessions/${encodeURIComponent(id)}`);
    const conversation = begin(id);
    drawHistory(conversation.element, messages);
    return conversation;
  } catch (error) {
    showProblem(error.message);
    return begin(null);
  }
}

async function send() {
  const field = byId("question");
  const input = field.value.trim();
  const conversation = current;
  if (!input || conversation.stop) return;
  field.value = "";
  const turn = createTurn((callId, approved) => approve(conversation, callId, approved));
  conversation.element.append(userMessage([{ type: "text", text: input }]), turn.element);
  conversation.stop = new AbortController();
  showState();
  scrollDown();
  announce("The agent works.");
  try {
    await follow(conversation, turn, input);
  } catch (error) {
    if (turn.isEmpty()) field.value ||= input;
    if (conversation.stop.signal.aborted) turn.fail("Stopped.", "note");
    else turn.fail(error.message);
  }
  running.delete(conversation.id);
  conversation.stop = null;
  showState();
  refreshSessions();
}

async function follow(conversation, turn, input) {
  const body = { input, session_id: conversation.id ?? undefined };
  for await (const event of stream("chat/stream", body, conversation.stop.signal)) {
    const follows = isAtEnd();
    if (event.type === "error") throw new Error(event.error.message);
    if (event.type === "session") adopt(conversation, event.session_id);
    turn.show(event);
    if (follows && conversation === current) requestAnimationFrame(scrollDown);
  }
}

function adopt(conversation, id) {
  conversation.id = id;
  running.set(id, conversation);
  if (conversation === current && !byId("chat").hidden) history.replaceState(null, "", addressOf(current));
  showState();
  refreshSessions();
}

async function approve(conversation, callId, approved) {
  focusQuestion(); // the buttons go away
  try {
    await request("POST", "approvals", { session_id: conversation.id, call_id: callId, approved });
    return true;
  } catch (error) {
    showProblem(error.message);
    return false;
  }
}

function showState() {
  const busy = current.stop !== null;
  if ([byId("send"), byId("stop")].includes(document.activeElement)) focusQuestion();
  byId("send").hidden = busy;
  byId("stop").hidden = !busy;
  byId("chat").setAttribute("aria-busy", String(busy));
  byId("to-chat").href = addressOf(current);
}

function addressOf({ id }) {
  return id === null ? "#/chat" : `#/chat/${id}`;
}

const page = document.scrollingElement;
const isAtEnd = () => page.scrollHeight - page.scrollTop - page.clientHeight < 80;
const scrollDown = () => page.scrollTo(0, page.scrollHeight);
