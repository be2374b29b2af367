// The server's HTTP API. Paths are relative, so that the page also works behind a prefix.

import { byId } from "./dom.js";

const TOKEN = "agent-token";
let asking = null; // while the dialog is open: all requests that were refused wait for it

/** Return the JSON that a GET answers. */
export async function getJson(path) {
  return (await request("GET", path)).json();
}

/** Send a request, with JSON if there is a body; throws an Error that people can read. */
export async function request(method, path, body, signal) {
  const sent = { method, signal, cache: "no-store" };
  if (body) sent.body = JSON.stringify(body);
  for (;;) {
    const token = sessionStorage.getItem(TOKEN);
    sent.headers = body ? { "Content-Type": "application/json" } : {};
    if (token) sent.headers.Authorization = `Bearer ${token}`;
    const response = await readable(fetch(path, sent), "The server cannot be reached.");
    if (response.ok) return response;
    if (response.status !== 401) throw new Error(await reason(response));
    await askToken(token);
  }
}

/** Yield the events of a streamed reply; throws when it ends before its last one. */
export async function* stream(path, body, signal) {
  const response = await request("POST", path, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await readable(reader.read(), "The connection was lost.");
    if (done) throw new Error("The connection ended before the answer did.");
    const lines = (rest + value).split(/\r\n|\r|\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue; // comments keep the connection open
      const data = line.slice(5).trim();
      if (data === "[DONE]") return;
      yield JSON.parse(data);
    }
  }
}

/** Wait, and let the browser's own errors of the network, which say little, say this. */
async function readable(promise, message) {
  try {
    return await promise;
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(message);
  }
}

async function reason(response) {
  const wait = response.headers.get("Retry-After");
  const later = wait ? ` Try again in ${wait} s.` : "";
  try {
    return (await response.json()).error.message + later;
  } catch {
    return `The server answered with status ${response.status}.${later}`;
  }
}

function askToken(refused) {
  if (refused !== sessionStorage.getItem(TOKEN)) return; // another request has asked meanwhile
  asking ??= openDialog(Boolean(refused)).finally(() => (asking = null));
  return asking;
}

async function openDialog(again) {
  const dialog = byId("token-dialog");
  byId("token-refused").hidden = !again;
  byId("token").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  if (dialog.returnValue !== "ok") throw new Error("This agent answers only with its access token.");
  sessionStorage.setItem(TOKEN, byId("token").value.trim());
}
