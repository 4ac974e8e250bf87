// Starts the page, and changes what it shows when the address or the log-in does.

import { withdraw } from "./dialog.js";
import { attribute, by, make, show, tell } from "./dom.js";
import * as elections from "./elections.js";
import * as leases from "./leases.js";
import { address, go, place } from "./place.js";
import { Refused, ask } from "./server.js";
import * as session from "./session.js";
import * as tasks from "./tasks.js";

const TABS = { leases, elections, tasks };
const TITLES = { leases: "Leases", elections: "Elections", tasks: "Tasks" };

/** The pause between two requests that the server has not answered as hoped. */
const PAUSE = 2_000;

let view = null;
let server = { tasks: true };

/** The reports of the streams about themselves. */
const signs = {
  on: (update) => (event, data) => {
    if (event === "problem") {
      live("waiting", new Refused(data.status, data).message);
      return;
    }
    live("live");
    if (event === "page") update(data);
  },
  // The server ends streams when its rights are read again.
  ended: () => recheck(),
  trouble(error) {
    live("waiting", error.message);
    if (error.status === 401 || error.status === 403) recheck();
  },
};

let rechecking = null;

/**
 * After a pause, asks the server who is logged in, and shows the page anew if that has changed. The stream tries again
 * meanwhile: of two servers one may know a token that the other does not, and the user is not to be asked endlessly.
 */
function recheck() {
  rechecking ??= setTimeout(async () => {
    rechecking = null;
    try {
      if (!(await session.refresh())) return;
    } catch {
      // The stream reports that the server does not answer.
      return;
    }
    if (session.isKnown()) render();
    else location.reload();
  }, PAUSE);
}

/** Shows whether the page is up to date. */
function live(state, why = "") {
  const element = by("live");
  show(element, true);
  attribute(element, "data-state", state);
  tell(element, state === "live" ? "Live" : "Not up to date");
  tell(by("trouble"), why ? `This page may be out of date: ${why}. Trying again.` : "");
}

function close() {
  view?.close();
  view = null;
  // A question is about what the view shows.
  withdraw();
}

/** Shows the place that the address names. */
function render() {
  close();
  const known = session.isKnown();
  const here = known ? place() : null;
  for (const [id, visible] of [["log-in", !known], ["tabs", known], ["where", known]]) show(by(id), visible);
  for (const id of Object.keys(TABS)) show(by(id), false);
  // The text is not read out again for each place, as it is the same.
  attribute(by("live"), "data-state", null);
  tell(by("trouble"), "");
  if (!known) {
    document.title = "Log in – dlock";
    by("token").focus();
    return;
  }
  if (!here) {
    const first = session.may("read", "default") ? "default" : (session.readable()[0] ?? "default");
    go(address(first, "leases"), { replace: true });
    return;
  }
  const { namespace, tab } = here;
  document.title = `${TITLES[tab]} of ${namespace} – dlock`;
  by("namespace").value = namespace;
  by("namespaces").replaceChildren(...session.readable().map((value) => make("option", { value })));
  for (const word of Object.keys(TABS)) {
    const link = by(`to-${word}`);
    attribute(link, "href", address(namespace, word));
    attribute(link, "aria-current", word === tab ? "page" : null);
  }
  show(by("to-tasks"), server.tasks);
  if (!session.may("read", namespace)) {
    const others = session.readable().join(", ");
    const where = others ? ` You may look at: ${others}.` : "";
    tell(by("trouble"), `You have no right to look at the namespace ${namespace}.${where}`);
    return;
  }
  if (tab === "tasks" && !server.tasks) {
    tell(by("trouble"), "The store of this server has no tasks.");
    return;
  }
  show(by(tab), true);
  view = TABS[tab].open(here, signs);
}

/** Asks the server who is logged in, and shows the page anew. */
async function again() {
  close();
  try {
    [server] = await Promise.all([ask("GET", "v1/capabilities"), session.refresh()]);
    render();
  } catch (error) {
    tell(by("trouble"), `${error.message}. Trying again.`);
    setTimeout(again, PAUSE);
  }
}

by("skip").addEventListener("click", (event) => {
  event.preventDefault();
  by("main").focus();
});
by("where").addEventListener("submit", (event) => event.preventDefault());
by("where").addEventListener("change", () => {
  if (by("where").reportValidity()) go(address(by("namespace").value, place()?.tab ?? "leases"));
});
addEventListener("hashchange", () => {
  const focused = document.activeElement;
  const isChip = by("states").contains(focused);
  render();
  // The link that was followed may have gone with the previous view.
  if (focused === document.body || (focused.isConnected && focused.checkVisibility())) return;
  const chip = isChip ? by("states").querySelector("[aria-current]") : null;
  (chip ?? by("main")).focus();
});
leases.start(place);
session.start(render);
setInterval(() => view?.tick(), matchMedia("(prefers-reduced-motion: reduce)").matches ? 1_000 : 250);
again();
