// The leases of a namespace.

import { action } from "./actions.js";
import { question } from "./dialog.js";
import { by, cell, foreign, make, show, tell } from "./dom.js";
import * as history from "./history.js";
import { address, go } from "./place.js";
import { ask, path } from "./server.js";
import { may } from "./session.js";
import { listen } from "./stream.js";
import { Rows, badge, opening, timeLeft } from "./table.js";
import { clock, harmless, instant, plural, span } from "./text.js";

/** What becomes of a lease, in the words of `dlock status`. */
function stateOf({ uuid, released, remaining_ms: left }) {
  if (released) return "released";
  if (left === 0) return "expired";
  // The term of nobody, which keeps a name closed, has a uuid of version 8.
  return uuid[14] === "8" ? "closed" : "held";
}

/** Whether it keeps others out now. */
const isKept = ({ state }) => ["held", "revoked", "closed"].includes(state);

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
    const leases = page.leases.map((lease) => {
      const state = history.note(`${namespace}/${lease.name}`, lease, stateOf(lease));
      return { ...lease, state };
    });
    const shown = heldOnly ? leases.filter(isKept) : leases;
    rows.update(shown, ({ name }) => name);
    empty(namespace, { prefix, heldOnly, unreadable: page.unreadable ?? [], isEmpty: shown.length === 0, after });
    pages(namespace, { prefix, held: heldOnly ? "1" : "" }, after, page.next);
  };
  const stream = listen(path(namespace, "leases/live", { prefix, after }), signs.on(update), signs.trouble);
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
}

function row(namespace, { name }) {
  const shown = harmless(name);
  let lease = null;
  const state = badge();
  const asked = make("span", { class: "badge", "data-state": "asked", text: "asked for" });
  const owner = make("bdi");
  const token = make("code");
  const time = timeLeft(`Time left of ${shown}`);
  const buttons = actions(namespace, name, () => lease);
  const details = opening(foreign(name), 6, () => fill(details.inside, namespace, lease));
  const body = make(
    "tbody",
    { role: "rowgroup" },
    make(
      "tr",
      { role: "row" },
      make("th", { scope: "row", role: "rowheader" }, details.button),
      cell("State", state.element, asked),
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
      const kept = isKept(lease);
      state.set(lease.state);
      show(asked, lease.asked && lease.state === "held");
      tell(owner, harmless(lease.owner) || "–");
      tell(token, String(lease.token));
      const unknown = kept ? `up to ${span(lease.duration_ms)} after the last renewal` : "–";
      time.set(kept ? lease.remaining_ms : null, lease.duration_ms, unknown);
      buttons.update(lease);
      if (details.isOpen()) fill(details.inside, namespace, lease);
    },
  };
}

function actions(namespace, name, lease) {
  const shown = harmless(name);
  const post = (what, body) => ask("POST", path(namespace, `leases/${what}`), { name, ...body });
  const askFor = action("Ask", `Ask for ${shown}`, async () => {
    await post("ask", { uuid: lease().uuid });
    return `${shown}: its holder learns with its next renewal that somebody asks for it.`;
  });
  const revoke = action("Revoke", `Revoke ${shown}`, async () => {
    const { uuid, renewals, owner, remaining_ms: left, duration_ms: whole } = lease();
    const yes = await question({
      title: `Revoke ${shown}?`,
      text: `${harmless(owner) || "Its holder"} loses it with its next renewal. Others can have it once the lease has run out, in ${span(left ?? whole)} at the latest, so that no two work at once.`,
      yes: "Revoke",
    });
    if (!yes) return null;
    await revokeTerm(post, { uuid, renewals });
    return `${shown} is revoked: others can have it when the lease has run out.`;
  });
  const force = action(
    "Force",
    `Force ${shown}`,
    async () => {
      const { uuid, token, owner } = lease();
      const yes = await question({
        title: `Free ${shown} at once?`,
        text: `${harmless(owner) || "Its holder"} may still be working, and is not stopped. Only storage that checks the token is protected from what it writes.`,
        yes: "Free it at once",
        name: shown,
      });
      if (!yes) return null;
      await post("force", { uuid, token });
      return `${shown} is free.`;
    },
    { danger: true },
  );
  return {
    all: [askFor, revoke, force],
    update(lease) {
      const { state, asked } = lease;
      show(askFor, may("hold", namespace) && state === "held" && !asked);
      show(revoke, may("admin", namespace) && state === "held");
      show(force, may("admin", namespace) && isKept(lease));
    },
  };
}

/** Revokes the term that the question was about. A renewal that came since it was shown is no reason not to. */
async function revokeTerm(post, version, tries = 5) {
  try {
    await post("revoke", { version });
  } catch (error) {
    const now = error.code === "changed" && !error.record?.released ? error.record : undefined;
    if (now?.uuid !== version.uuid || tries <= 1) throw error;
    await revokeTerm(post, { uuid: now.uuid, renewals: now.renewals }, tries - 1);
  }
}

/** What an open row says. It is filled anew only if something in it has changed. */
function fill(inside, namespace, lease) {
  const entries = history.of(`${namespace}/${lease.name}`);
  const { uuid, renewals, since, duration_ms: whole, data } = lease;
  const key = JSON.stringify([uuid, renewals, data, entries]);
  if (inside.dataset.key === key) return;
  inside.dataset.key = key;
  const facts = make("dl", { class: "facts" });
  const fact = (word, ...what) => facts.append(make("div", {}, make("dt", { text: word }), make("dd", {}, ...what)));
  fact("Since", instant(since));
  fact("Lease", span(whole));
  fact("Renewals", String(renewals));
  fact("Term", make("code", { text: uuid }));
  if (data) fact("Data (base64)", make("code", { class: "long", text: data }));
  const lines = entries.toReversed().map(({ at, text }) =>
    make("li", {}, make("time", { datetime: at.toISOString(), text: clock(at) }), make("bdi", { text })),
  );
  inside.replaceChildren(
    facts,
    make("h3", { text: `Seen since this page was opened, at ${clock(history.opened)}` }),
    make("ol", { class: "history" }, ...lines),
  );
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
      make("p", { class: "big", text: "No leases yet" }),
      make("p", { text: "A lease appears here as soon as a program takes one. Try it:" }),
      make("pre", { text: `dlock run nightly --store '${store}' -- sleep 60` }),
    );
  }
  element.replaceChildren(...children);
}

function pages(namespace, query, after, next) {
  const element = by("leases-pages");
  show(element, Boolean(after || next));
  const key = JSON.stringify([namespace, query, after, next]);
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  const links = [];
  if (after) links.push(make("a", { href: address(namespace, "leases", query), text: "First page" }));
  if (next) links.push(make("a", { href: address(namespace, "leases", { ...query, after: next }), text: "Next page" }));
  element.replaceChildren(...links);
}
