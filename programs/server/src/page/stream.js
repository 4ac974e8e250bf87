// A stream of server-sent events, which is opened again when it breaks. Not an EventSource: that one does not report
// why the server refuses it.

import { Refused, refusal } from "./server.js";

/** Each read by the server is an event. Without one for this long, the connection is considered dead. */
const SILENCE = 20_000;

const SILENT = new Refused(0, { title: "the server says nothing" });

/** The pause before the first repeat, and the longest one. */
const PAUSE = 1_000;
const LONGEST = 15_000;

/** Twice as long each time, less a random part of up to half: the clients of a server that has gone do not all come back at once. */
const pauseAfter = (failures) => Math.min(LONGEST, PAUSE * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);

/**
 * Passes the events of a path to `on(event, data)` until `close()`. The first event of a stream has the whole view, so a
 * stream that has broken off is opened again, and nothing is missed. `ended()` is called when one ends, as they do behind
 * a proxy that limits the duration of answers; `trouble(error)` when the next one does not come either, was refused, or
 * when a server that keeps the connection sends nothing.
 */
export function listen(path, on, { ended, trouble }) {
  const stop = new AbortController();
  let current = null;
  let failures = 0;
  const hear = (event, data) => {
    failures = 0;
    on(event, data);
  };
  const run = async () => {
    while (!stop.signal.aborted) {
      if (document.hidden) {
        await once(document, "visibilitychange", stop.signal);
        continue;
      }
      current = new AbortController();
      let error = new Refused(0, { title: "the server does not answer" });
      try {
        await read(path, hear, current);
        error = new Refused(0, { title: "the server ends the stream" });
      } catch (refused) {
        if (refused instanceof Refused) error = refused;
      }
      if (stop.signal.aborted || document.hidden) continue;
      failures += 1;
      if (failures > 1 || error.status !== 0 || error === SILENT) trouble(error);
      else ended();
      await pause(pauseAfter(failures), stop.signal);
    }
  };
  // A hidden page requests nothing, and leaves the browser's few connections to others.
  const hide = () => document.hidden && current?.abort();
  document.addEventListener("visibilitychange", hide);
  run();
  return {
    close() {
      document.removeEventListener("visibilitychange", hide);
      stop.abort();
      current?.abort();
    },
  };
}

async function read(path, on, controller) {
  const headers = { accept: "text/event-stream" };
  let silence = setTimeout(() => controller.abort(SILENT), SILENCE);
  try {
    const response = await fetch(path, { headers, signal: controller.signal, cache: "no-store" });
    if (!response.ok) throw await refusal(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(() => controller.abort(SILENT), SILENCE);
      const events = (text + value).split("\n\n");
      text = events.pop();
      for (const event of events) deliver(event, on);
    }
  } finally {
    clearTimeout(silence);
  }
}

function deliver(event, on) {
  const fields = new Map();
  for (const line of event.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
  }
  if (!fields.has("data")) return;
  try {
    on(fields.get("event") ?? "message", JSON.parse(fields.get("data")));
  } catch (error) {
    // A bug in the page is not a fault of the connection.
    reportError(error);
  }
}

const once = (target, name, signal) =>
  new Promise((resolve) => {
    target.addEventListener(name, resolve, { once: true, signal });
    signal.addEventListener("abort", resolve, { once: true });
  });

const pause = (millis, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, millis);
    signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });
