// The leases of a namespace.

import { by, cell, foreign, make, show, tell } from "./dom.js";
import { actions, filling, isKept, stateOf, unknown } from "./lease.js";
import { address, go } from "./place.js";
import { path } from "./server.js";
import { listen } from "./stream.js";
import { Rows, badge, opening, pages, timeLeft } from "./table.js";
import { harmless, plural } from "./text.js";

/** How long a prefix must stay unchanged to take effect without the Enter key. */
const TYPING = 400;

/** Shows the leases of a place until `close()`. */
export function open({ namespace, query }, signs) {
  const [prefix, after] = [query.get("prefix") ?? "", query.get("after") ?? ""];
  const heldOnly = query.get("held") === "1";
  const rows = new Rows(by("leases-table"), (lease) => row(namespace, lease));
  by("prefix").value = prefix;
  by("held-only").checked = heldOnly;
  show(by("leases-empty"), false);
  show(by("leases-pages"), false);
  const update = (page) => {
    const shown = heldOnly ? page.leases.filter(isKept) : page.leases;
    rows.update(shown, ({ name }) => name);
    empty(namespace, { prefix, heldOnly, unreadable: page.unreadable ?? [], isEmpty: shown.length === 0, after });
    const to = (after) => address(namespace, "leases", { prefix, held: heldOnly ? "1" : "", after });
    pages(by("leases-pages"), after && to(), page.next && to(page.next));
  };
  const stream = listen(path(namespace, "leases/live", { prefix, after }), signs.on(update), signs);
  return { close: () => stream.close(), tick: () => rows.tick() };
}

/** Wires the filter up, once. */
export function start(place) {
  const filter = (event) => {
    event.preventDefault();
    const held = by("held-only").checked ? "1" : "";
    go(address(place().namespace, "leases", { prefix: by("prefix").value, held }));
  };
  by("leases-filter").addEventListener("submit", filter);
  by("leases-filter").addEventListener("change", filter);
  let typing = null;
  by("prefix").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => place()?.tab === "leases" && filter(event), TYPING);
  });
}

function row(namespace, { name }) {
  const shown = harmless(name);
  let lease = null;
  const state = badge();
  const asked = make("span", { class: "badge", "data-state": "asked", text: "asked for" });
  const election = make("span", { class: "badge", text: "election" });
  const owner = make("bdi");
  const token = make("code");
  const time = timeLeft(`Time left of ${shown}`);
  const buttons = actions(namespace, name, () => lease);
  const details = opening(foreign(name), 6, () => fill(lease));
  const fill = filling(namespace, name, details.inside);
  const body = make(
    "tbody",
    { role: "rowgroup" },
    make(
      "tr",
      { role: "row" },
      make("th", { scope: "row", role: "rowheader" }, details.button),
      cell("State", state.element, asked, election),
      cell("Holder", owner),
      cell("Token", token),
      cell("Time left", time.element),
      cell("Actions", make("div", { class: "buttons" }, ...buttons.all)),
    ),
    details.more,
  );
  return {
    body,
    tick: () => time.tick(),
    update(next) {
      lease = next;
      const now = stateOf(lease);
      state.set(now);
      show(asked, lease.asked && now === "held");
      show(election, lease.election === true);
      tell(owner, harmless(lease.owner) || "–");
      tell(token, String(lease.token));
      time.set(isKept(lease) ? lease.remaining_ms : null, lease.duration_ms, unknown(lease));
      buttons.update(lease);
      if (details.isOpen()) fill(lease);
    },
  };
}

function empty(namespace, { prefix, heldOnly, unreadable, isEmpty, after }) {
  const element = by("leases-empty");
  const key = JSON.stringify([namespace, prefix, heldOnly, unreadable, isEmpty, after]);
  show(element, isEmpty || unreadable.length > 0);
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  const all = make("a", { href: address(namespace, "leases"), text: "Show all" });
  const children = [];
  if (unreadable.length > 0) {
    children.push(make("p", { text: `${plural(unreadable.length, "record")} cannot be read:` }));
    const lines = unreadable.map(({ name, why }) => make("li", {}, foreign(name), ": ", foreign(why)));
    children.push(make("ul", {}, ...lines));
  }
  if (isEmpty && (prefix || heldOnly || after)) {
    const what = heldOnly ? "No lease of this page is held" : "There are no such leases";
    children.push(make("p", {}, `${what}. `, all, "."));
  } else if (isEmpty) {
    const store = `${location.origin}?namespace=${namespace}`;
    children.push(
      make("p", { class: "big", text: `No leases in the namespace ${namespace}` }),
      make("p", { text: "Those of other namespaces are not shown here. A lease appears as soon as a program takes one. Try it:" }),
      make("pre", { text: `dlock run nightly --store '${store}' -- sleep 60` }),
    );
  }
  element.replaceChildren(...children);
}
