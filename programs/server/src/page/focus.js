// Where the focus goes when its element is hidden or removed: to a neighbour, not to the beginning of the page.

import { by } from "./dom.js";

const isThere = (element) => element.isConnected && element.checkVisibility();

const first = (inside, what) => [...(inside?.querySelectorAll(what) ?? [])].find(isThere);

/** Changes a table. If that takes the focus away, the focus goes to another button of its cell, to its row, or to the row that has taken its place. */
export function keepFocus(table, change) {
  const focused = document.activeElement;
  if (!table.contains(focused)) {
    change();
    return;
  }
  const [row, cell] = [focused.closest("tbody"), focused.closest(".buttons")];
  const at = [...table.tBodies].indexOf(row);
  change();
  if (isThere(focused)) return;
  const here = row?.isConnected ? row : table.tBodies[Math.min(at, table.tBodies.length - 1)];
  (first(cell, "button") ?? first(here, "button, a") ?? by("main")).focus();
}

/** Gives the focus back to the element that had it, if that still exists. */
export const giveBack = (element) => (isThere(element) ? element : by("main")).focus();
