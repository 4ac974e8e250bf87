// One task: its row, what can be done about it, and the contents of an open row.

import { action } from "./actions.js";
import { question } from "./dialog.js";
import { cell, foreign, make, show, tell } from "./dom.js";
import { ask, path } from "./server.js";
import { may } from "./session.js";
import { badge, opening, timeLeft } from "./table.js";
import { firstLine, harmless, harmlessLines, instant, json, span } from "./text.js";

const HAS_ENDED = ["succeeded", "dead", "cancelled"];

export function row(namespace, { id, kind }) {
  let task = null;
  let longest = 1;
  const state = badge();
  const asked = make("span", { class: "badge", "data-state": "asked", text: "asked to stop" });
  const [queue, owner, attempt, error] = ["bdi", "bdi", "span", "p"].map((tag) => make(tag));
  error.className = "error";
  const time = timeLeft(`Time left of task ${id}`);
  const buttons = actions(namespace, id, () => task);
  const title = make("span", {}, make("code", { text: `#${id}` }), " ", foreign(kind));
  const details = opening(title, 7, () => fill(details, namespace, task));
  const body = make(
    "tbody",
    { role: "rowgroup" },
    make(
      "tr",
      { role: "row" },
      make("th", { scope: "row", role: "rowheader" }, details.button, error),
      cell("Queue", queue),
      cell("State", state.element, asked),
      cell("Attempt", attempt),
      cell("Worker", owner),
      cell("Time left", time.element),
      cell("Actions", make("div", { class: "buttons" }, ...buttons.all)),
    ),
    details.more,
  );
  return {
    body,
    tick: () => time.tick(),
    update(next) {
      task = next;
      const { holder } = task;
      const runs = task.state === "running";
      state.set(task.state);
      show(asked, Boolean(holder?.asked) && runs);
      tell(queue, harmless(task.queue));
      tell(attempt, `${task.attempt} of ${task.max_attempts}`);
      tell(owner, harmless(holder?.owner ?? "") || "–");
      tell(error, task.error ? `Attempt ${task.error.attempt} failed: ${firstLine(task.error.error)}` : "");
      show(error, Boolean(task.error));
      // A store does not say how long the lease of a task is: the most that was ever left of it counts
      // as its length.
      longest = Math.max(longest, runs ? holder.remaining_ms : 0);
      time.set(runs ? holder.remaining_ms : null, longest, due(task));
      buttons.update(task);
      if (details.isOpen()) fill(details, namespace, task);
    },
  };
}

/** The text in place of the time left of a running task. */
function due({ state, run_at: at, ended_at: ended }) {
  if (state === "stalled") return "run out";
  if (ended) return `ended ${instant(ended)}`;
  if (state !== "scheduled") return "–";
  const wait = new Date(at) - Date.now();
  return wait > 0 ? `due in ${span(wait)}` : "due";
}

function actions(namespace, id, task) {
  const post = (what, body) => ask("POST", path(namespace, `tasks/${id}/${what}`), body);
  const cancel = action("Cancel", `Cancel task ${id}`, async () => {
    const runs = ["running", "stalled"].includes(task().state);
    const yes = await question({
      title: `Cancel task ${id}?`,
      text: runs ? "Its worker is asked to stop, and learns of it with its next heartbeat." : "It ends without having run.",
      yes: "Cancel the task",
      choice: runs ? "End it at once: its worker may still be working" : undefined,
    });
    if (!yes) return null;
    const { was } = await post("cancel", { force: yes.chosen });
    if (HAS_ENDED.includes(was)) return `Task ${id} had ended: ${was}.`;
    return was === "running" && !yes.chosen ? `Task ${id}: its worker is asked to stop.` : `Task ${id} is cancelled.`;
  });
  const retry = action("Retry", `Retry task ${id}`, async () => {
    const again = {
      title: `Do the work of task ${id} once more?`,
      text: "The task has succeeded. A copy of it runs, and whatever it did is done again.",
      yes: "Run it again",
    };
    if (task().state === "succeeded" && !(await question(again))) return null;
    const { id: now } = await post("retry", {});
    return now === id ? `Task ${id} is in its queue again.` : `Task ${now} does the work of task ${id} once more.`;
  });
  return {
    all: [cancel, retry],
    update({ state, holder }) {
      const ended = HAS_ENDED.includes(state);
      show(cancel, may("admin", namespace) && !ended && !(holder?.asked && state !== "running"));
      show(retry, may("admin", namespace) && ended);
    },
  };
}

/** Requests the whole task when its row is opened, and again when its row changes. */
async function fill(details, namespace, line, { again = false } = {}) {
  const { inside } = details;
  const { holder, ...rest } = line;
  const key = JSON.stringify([rest, holder?.token, holder?.asked]);
  if (inside.dataset.key === key && !again) return;
  inside.dataset.key = key;
  if (!inside.hasChildNodes()) inside.append(make("p", { text: "…" }));
  try {
    const task = await ask("GET", path(namespace, `tasks/${line.id}`));
    // The row says something else by now, and was requested again.
    if (inside.dataset.key !== key) return;
    const reload = action("Look again", `Look at task ${line.id} again`, () => fill(details, namespace, line, { again: true }));
    inside.replaceChildren(...content(task), make("p", {}, reload));
  } catch (error) {
    if (inside.dataset.key !== key) return;
    inside.replaceChildren(make("p", { class: "error", text: error.message }));
    delete inside.dataset.key;
  }
}

function content(task) {
  const facts = make("dl", { class: "facts" });
  const fact = (word, ...what) => facts.append(make("div", {}, make("dt", { text: word }), make("dd", {}, ...what)));
  fact("Enqueued", instant(task.enqueued_at));
  fact("Priority", String(task.priority));
  if (task.key !== undefined) fact("Key", foreign(task.key));
  if (task.lane !== undefined) fact("Lane", foreign(task.lane));
  if (task.holder) fact("Token", make("code", { text: String(task.holder.token) }));
  if (task.ended_at) fact("Ended", instant(task.ended_at));
  const values = [["Payload", task.payload], ["Checkpoint", task.checkpoint], ["Output", task.output]]
    .filter(([word, value]) => value !== undefined && (word !== "Payload" || value !== null))
    .flatMap(([word, value]) => [make("h3", { text: word }), make("pre", { tabindex: "0", "aria-label": word, text: json(value) })]);
  const errors = (task.errors ?? []).toReversed().map(({ attempt, at, error }) =>
    make("li", {}, make("time", { datetime: at, text: `Attempt ${attempt}, ${instant(at)}` }), make("pre", { text: harmlessLines(error) })),
  );
  const failed = errors.length > 0 ? [make("h3", { text: "Errors" }), make("ol", { class: "history" }, ...errors)] : [];
  return [facts, ...values, ...failed];
}
