// Tables whose rows stay where they are while their contents change: the focus and an open row are not lost.

import { attribute, make, show, tell } from "./dom.js";
import { keepFocus } from "./focus.js";
import { span } from "./text.js";

/** Rows, by key. `row(item)` makes `{ body, update(item), ticks? }`; `ticks()` is called between two pages. */
export class Rows {
  #table;
  #row;
  #rows = new Map();

  constructor(table, row) {
    this.#table = table;
    this.#row = row;
    // The rows of the previous view.
    for (const body of [...table.tBodies]) body.remove();
    show(table, false);
  }

  /** Shows these items, in this order. */
  update(items, keyOf) {
    keepFocus(this.#table, () => this.#change(items, keyOf));
  }

  #change(items, keyOf) {
    // First, or each row behind a removed one would have to be moved.
    const keys = new Set(items.map(keyOf));
    for (const [key, { body }] of [...this.#rows]) {
      if (keys.has(key)) continue;
      body.remove();
      this.#rows.delete(key);
    }
    let last = this.#table.tHead;
    for (const item of items) {
      const key = keyOf(item);
      let row = this.#rows.get(key);
      if (!row) {
        row = this.#row(item);
        this.#rows.set(key, row);
      }
      row.update(item);
      // Moving an element takes the focus from it, so it is moved only if it has to be.
      if (last.nextElementSibling !== row.body) last.after(row.body);
      last = row.body;
    }
    show(this.#table, items.length > 0);
  }

  tick() {
    for (const row of this.#rows.values()) row.tick?.();
  }
}

let ids = 0;

/** A row that can be opened: its first cell has the button. */
export function opening(label, columns, onOpen = () => {}) {
  const id = `more-${++ids}`;
  const inside = make("td", { role: "cell", colspan: columns });
  const more = make("tr", { role: "row", class: "more", id, hidden: true }, inside);
  const toggle = () => {
    const open = more.hidden;
    more.hidden = !open;
    button.setAttribute("aria-expanded", open);
    if (open) onOpen();
  };
  const button = make(
    "button",
    { type: "button", class: "open", "aria-expanded": "false", "aria-controls": id, on: { click: toggle } },
    label,
  );
  return { button, more, inside, isOpen: () => !more.hidden };
}

/** A word for a state, in its colour. */
export function badge() {
  const element = make("span", { class: "badge" });
  return {
    element,
    set(state, word = state) {
      tell(element, word);
      attribute(element, "data-state", state);
    },
  };
}

/** Links to the first page and to the next one, if there are any. */
export function pages(element, first, next) {
  show(element, Boolean(first || next));
  const links = [[first, "First page"], [next, "Next page"]].filter(([href]) => href);
  const key = JSON.stringify(links);
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  element.replaceChildren(...links.map(([href, text]) => make("a", { href, text })));
}

/** The time left of a lease, as words and as a bar. */
export function timeLeft(label) {
  const words = make("span", { class: "left" });
  const bar = make("progress", { "aria-label": label, max: "1", value: "0" });
  const element = make("div", { class: "time" }, words, bar);
  let until = null;
  let whole = 1;
  const tick = () => {
    if (until === null) return;
    const left = Math.max(0, until - performance.now());
    tell(words, left > 0 ? span(left) : "run out");
    bar.value = Math.min(1, left / whole);
    bar.classList.toggle("low", left < whole / 4);
  };
  return {
    element,
    tick,
    /** `left` milliseconds of `duration`; without a number, the text to show instead. */
    set(left, duration, instead = "") {
      until = typeof left === "number" ? performance.now() + left : null;
      whole = Math.max(1, duration);
      show(bar, until !== null);
      if (until === null) tell(words, instead);
      else tick();
    },
  };
}
