// The queues of a namespace, and their tasks.

import { action } from "./actions.js";
import { question } from "./dialog.js";
import { attribute, by, cell, foreign, make, show, tell } from "./dom.js";
import { address } from "./place.js";
import { ask, path } from "./server.js";
import { may } from "./session.js";
import { listen } from "./stream.js";
import { Rows, badge, pages } from "./table.js";
import { row } from "./task.js";
import { harmless, instant, plural } from "./text.js";

const STATES = ["running", "stalled", "ready", "scheduled", "dead", "cancelled", "succeeded"];

/** Shows the tasks of a place until `close()`. */
export function open({ namespace, query }, signs) {
  const which = Object.fromEntries(["queue", "state", "after"].map((word) => [word, query.get(word) ?? ""]));
  if (!STATES.includes(which.state)) which.state = "";
  const queues = new Rows(by("queues-table"), (queue) => queueRow(namespace, queue));
  const tasks = new Rows(by("tasks-table"), (task) => row(namespace, task));
  head();
  for (const id of ["queues-empty", "tasks-empty", "tasks-pages", "of-queue"]) show(by(id), false);
  by("states").replaceChildren();
  const chips = states(namespace, which);
  const update = (page) => {
    const all = byQueue(page);
    queues.update(all, ({ queue }) => queue);
    noQueues(namespace, all.length === 0);
    chips(all);
    tasks.update(page.tasks, ({ id }) => id);
    noTasks(namespace, which, page.tasks.length === 0);
    const to = (after) => address(namespace, "tasks", { ...which, after });
    pages(by("tasks-pages"), which.after && to(), page.next && to(page.next));
  };
  const stream = listen(path(namespace, "tasks/live", which), signs.on(update), signs);
  return { close: () => stream.close(), tick: () => tasks.tick() };
}

function head() {
  const words = ["Queue", ...STATES, "Limit", "Claims"];
  const cells = words.map((word) => make("th", { scope: "col", role: "columnheader", text: word[0].toUpperCase() + word.slice(1) }));
  by("queues-head").replaceChildren(...cells);
}

/** One line for each queue that has tasks, is paused or has a limit. */
function byQueue({ counts, paused, limits }) {
  const queues = new Map();
  const of = (queue) => {
    if (!queues.has(queue)) queues.set(queue, { queue, counts: {} });
    return queues.get(queue);
  };
  for (const { queue, state, tasks } of counts) of(queue).counts[state] = tasks;
  for (const { queue, since } of paused) of(queue).since = since;
  for (const { queue, limit } of limits) of(queue).limit = limit;
  return [...queues.values()].sort((one, two) => (one.queue < two.queue ? -1 : 1));
}

function queueRow(namespace, { queue }) {
  const shown = harmless(queue);
  const numbers = STATES.map((state) => {
    const link = make("a", { href: address(namespace, "tasks", { queue, state }) });
    return { state, link, cell: cell(state[0].toUpperCase() + state.slice(1), link) };
  });
  let most = null;
  const limit = make("span");
  const paused = badge();
  const set = (paused, said) => async () => {
    await ask("PUT", path(namespace, "queues"), { queue, paused });
    return `${shown} ${said}`;
  };
  const pause = action("Pause", `Pause ${shown}`, set(true, "is paused: no worker gets its tasks. Running tasks continue."));
  const resume = action("Resume", `Resume ${shown}`, set(false, "is resumed."));
  const change = action("Limit", `Limit ${shown}`, async () => {
    const yes = await question({
      title: `How many tasks of ${shown} at a time?`,
      text: "At most this many run, on all workers together. Tasks that are running now continue, and others begin when there is room.",
      yes: "Set the limit",
      number: { label: "At most (empty: any number)", value: most },
    });
    if (!yes) return null;
    await ask("PUT", path(namespace, "queues"), { queue, limit: yes.number });
    return yes.number === null ? `${shown} has no limit.` : `${shown}: ${plural(yes.number, "task")} at a time.`;
  });
  const body = make(
    "tbody",
    { role: "rowgroup" },
    make(
      "tr",
      { role: "row" },
      make("th", { scope: "row", role: "rowheader" }, make("a", { href: address(namespace, "tasks", { queue }) }, foreign(queue))),
      ...numbers.map((number) => number.cell),
      cell("Limit", make("div", { class: "buttons" }, limit, change)),
      cell("Claims", make("div", { class: "buttons" }, paused.element, pause, resume)),
    ),
  );
  return {
    body,
    update({ counts, since, limit: now }) {
      most = now ?? null;
      for (const { state, link } of numbers) {
        const count = counts[state] ?? 0;
        tell(link, String(count));
        attribute(link, "aria-label", `${plural(count, "task")} of ${shown} ${state}`);
        link.classList.toggle("none", count === 0);
      }
      tell(limit, most === null ? "–" : `${most} at a time`);
      show(change, may("admin", namespace));
      paused.set(since ? "paused" : "open");
      attribute(paused.element, "title", since ? `Since ${instant(since)}` : null);
      show(pause, may("admin", namespace) && !since);
      show(resume, may("admin", namespace) && Boolean(since));
    },
  };
}

/** Links to the states, with how many tasks are in each. */
function states(namespace, { queue, state: current }) {
  const chips = ["", ...STATES].map((state) => {
    const count = make("span", { class: "count" });
    const word = state || "all";
    const link = make(
      "a",
      { href: address(namespace, "tasks", { queue, state }), "aria-current": state === current ? "true" : undefined },
      word[0].toUpperCase() + word.slice(1),
      " ",
      count,
    );
    return { state, count, link };
  });
  by("states").replaceChildren(...chips.map(({ link }) => link));
  if (queue) {
    const all = make("a", { href: address(namespace, "tasks", { state: current }), text: "Show those of all queues" });
    by("of-queue").replaceChildren("Only tasks of the queue ", foreign(queue, { class: "strong" }), ". ", all, ".");
    show(by("of-queue"), true);
  }
  return (queues) => {
    const own = queue ? queues.filter((line) => line.queue === queue) : queues;
    for (const { state, count } of chips) {
      const numbers = own.flatMap(({ counts }) => (state ? [counts[state] ?? 0] : Object.values(counts)));
      tell(count, String(numbers.reduce((sum, number) => sum + number, 0)));
    }
  };
}

function noQueues(namespace, isEmpty) {
  const element = by("queues-empty");
  show(element, isEmpty);
  if (!isEmpty || element.dataset.key === namespace) return;
  element.dataset.key = namespace;
  const body = `{"tasks": [{"kind": "resize", "queue": "images"}]}`;
  element.replaceChildren(
    make("p", { class: "big", text: "No queues yet" }),
    make("p", { text: "A queue appears here with its first task. Try it:" }),
    make("pre", { text: `curl ${location.origin}/v1/${namespace}/tasks -H 'content-type: application/json' -d '${body}'` }),
  );
}

function noTasks(namespace, { queue, state, after }, isEmpty) {
  const element = by("tasks-empty");
  show(element, isEmpty);
  const key = JSON.stringify([namespace, queue, state, after]);
  if (!isEmpty || element.dataset.key === key) return;
  element.dataset.key = key;
  const narrowed = queue || state || after;
  const text = narrowed ? `No tasks here${state ? ` are ${state}` : ""}. ` : "No tasks.";
  const all = make("a", { href: address(namespace, "tasks"), text: "Show all" });
  element.replaceChildren(make("p", {}, text, ...(narrowed ? [all, "."] : [])));
}
