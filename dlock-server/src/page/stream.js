// A stream of server-sent events, which is opened again when it breaks. Not an EventSource: that one does not tell why the
// server refuses it.

import { Refused, refusal } from "./server.js";

/** Each look of the server is an event. Without any for so long, the connection is taken for dead. */
const SILENCE = 20_000;
const PAUSE = 2_000;

/** Hands the events of a path to `on(event, data)`, and to `trouble(error)` what keeps them away, until `close()`. */
export function listen(path, on, trouble) {
  const stop = new AbortController();
  let current = null;
  const run = async () => {
    while (!stop.signal.aborted) {
      if (document.hidden) {
        await once(document, "visibilitychange", stop.signal);
        continue;
      }
      current = new AbortController();
      try {
        await read(path, on, current);
        if (!stop.signal.aborted && !document.hidden) trouble(new Refused(0, { code: "ended", title: "the server has ended the stream" }));
      } catch (error) {
        const closed = stop.signal.aborted || document.hidden;
        if (!closed) trouble(error instanceof Refused ? error : new Refused(0, { title: "the server does not answer" }));
      }
      if (!document.hidden) await pause(PAUSE, stop.signal);
    }
  };
  // A page that nobody looks at asks for nothing, and leaves the browser's few connections to others.
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
  let silence = setTimeout(() => controller.abort(), SILENCE);
  try {
    const response = await fetch(path, { headers, signal: controller.signal, cache: "no-store" });
    if (!response.ok) throw await refusal(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(() => controller.abort(), SILENCE);
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
    const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
    if (name) fields.set(name, value);
  }
  if (!fields.has("data")) return;
  try {
    on(fields.get("event") ?? "message", JSON.parse(fields.get("data")));
  } catch (error) {
    // A fault of the page is none of the connection.
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
