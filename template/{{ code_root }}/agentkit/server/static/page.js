// The page: which view the address names, and the drawer with the chats.

import { focusQuestion, forget, openChat, startChat, stopTurn } from "./chat.js";
import { byId, showProblem } from "./dom.js";
import { openRun, openRuns } from "./runs.js";
import { refreshSessions, startSessions } from "./sessions.js";

const VIEWS = {
  chat: openChat,
  runs: openRuns,
  run: openRun,
};

async function showView() {
  const [, kind, name] = location.hash.split("/");
  const id = name || null;
  const view = kind === "runs" ? (id ? "run" : "runs") : "chat";
  for (const each of Object.keys(VIEWS)) byId(each).hidden = each !== view;
  document.title = view === "chat" ? "Agent" : "Runs of the agent";
  mark("to-chat", view === "chat");
  mark("to-runs", view !== "chat");
  openDrawer(false);
  showProblem();
  try {
    await Promise.all([VIEWS[view](id), refreshSessions()]);
  } catch (error) {
    showProblem(error.message);
  }
}

function mark(id, isCurrent) {
  if (isCurrent) byId(id).setAttribute("aria-current", "page");
  else byId(id).removeAttribute("aria-current");
}

function focusView() {
  if (!byId("chat").hidden) focusQuestion();
  else byId(byId("run").hidden ? "runs-title" : "run-title").focus();
}

const isDrawerOpen = () => document.body.classList.contains("drawer");

function openDrawer(open) {
  byId("menu").setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("drawer", open);
}

byId("menu").addEventListener("click", () => {
  openDrawer(!isDrawerOpen());
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || byId("token-dialog").open) return;
  if (isDrawerOpen()) openDrawer(false);
  else if (!byId("chat").hidden) stopTurn();
});
window.addEventListener("hashchange", async () => {
  await showView();
  focusView();
});
byId("skip").addEventListener("click", focusView);
startChat();
startSessions(forget);
await showView();
focusView();
