// The elections of a namespace: who leads. An election is a lease whose holder says that it leads.

import { by, cell, foreign, make, show, tell } from "./dom.js";
import { actions, filling, isKept, stateOf, unknown } from "./lease.js";
import { address } from "./place.js";
import { path } from "./server.js";
import { listen } from "./stream.js";
import { Rows, badge, opening, pages, timeLeft } from "./table.js";
import { harmless, instant } from "./text.js";

/** Shows the elections of a place until `close()`. */
export function open({ namespace, query }, signs) {
  const after = query.get("after") ?? "";
  const rows = new Rows(by("elections-table"), (lease) => row(namespace, lease));
  for (const id of ["elections-empty", "elections-pages"]) show(by(id), false);
  const update = ({ leases, next }) => {
    rows.update(leases, ({ name }) => name);
    empty(namespace, leases.length === 0, Boolean(after || next));
    const to = (after) => address(namespace, "elections", { after });
    pages(by("elections-pages"), after && to(), next && to(next));
  };
  const stream = listen(path(namespace, "leases/live", { elections: true, after }), signs.on(update), signs);
  return { close: () => stream.close(), tick: () => rows.tick() };
}

function row(namespace, { name }) {
  const shown = harmless(name);
  let lease = null;
  const state = badge();
  const asked = make("span", { class: "badge", "data-state": "asked", text: "asked to resign" });
  const [leader, since, token] = ["bdi", "span", "code"].map((tag) => make(tag));
  const time = timeLeft(`Time left of the leader of ${shown}`);
  const buttons = actions(namespace, name, () => lease);
  const details = opening(foreign(name), 7, () => fill(lease));
  const fill = filling(namespace, name, details.inside);
  const body = make(
    "tbody",
    { role: "rowgroup" },
    make(
      "tr",
      { role: "row" },
      make("th", { scope: "row", role: "rowheader" }, details.button),
      cell("State", state.element, asked),
      cell("Leader", leader),
      cell("Leads since", since),
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
      const leads = now === "held";
      state.set(leads ? "held" : now, leads ? "led" : isKept(lease) ? now : "no leader");
      show(asked, lease.asked && leads);
      tell(leader, isKept(lease) ? harmless(lease.owner) || "–" : "no leader");
      tell(since, isKept(lease) ? instant(lease.since) : "–");
      tell(token, String(lease.token));
      time.set(isKept(lease) ? lease.remaining_ms : null, lease.duration_ms, unknown(lease));
      buttons.update(lease);
      if (details.isOpen()) fill(lease);
    },
  };
}

function empty(namespace, isEmpty, isPart) {
  const element = by("elections-empty");
  show(element, isEmpty);
  const key = JSON.stringify([namespace, isPart]);
  if (!isEmpty || element.dataset.key === key) return;
  element.dataset.key = key;
  const store = `${location.origin}?namespace=${namespace}`;
  const help = [
    make("p", { class: "big", text: "No elections yet" }),
    make("p", { text: "An election appears here with its first leader. Try it:" }),
    make("pre", { text: `dlock elect scheduler --store '${store}' --exec sleep 60` }),
  ];
  element.replaceChildren(...(isPart ? [make("p", { text: "There are no elections on this page." })] : help));
}
