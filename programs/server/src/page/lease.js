// One lease: its row, what can be done about it, and the contents of an open row.

import { action } from "./actions.js";
import { question } from "./dialog.js";
import { make, show } from "./dom.js";
import { line } from "./history.js";
import { ask, path } from "./server.js";
import { may } from "./session.js";
import { binary, day, harmless, instant, span } from "./text.js";

/** The state of a lease, in the words of `dlock status`. */
export function stateOf({ uuid, released, revoked, remaining_ms: left }) {
  if (released) return "released";
  if (left === 0) return "expired";
  // The term that keeps a name closed, without a holder, has a uuid of version 8.
  if (uuid[14] === "8") return "closed";
  return revoked ? "revoked" : "held";
}

/** Whether it keeps others out now. */
export const isKept = (lease) => ["held", "revoked", "closed"].includes(stateOf(lease));

/** The text in place of the time left, for a store whose clock decides nothing. */
export const unknown = (lease) => (isKept(lease) ? `up to ${span(lease.duration_ms)} after the last renewal` : "–");

/** The buttons of a lease. `lease()` returns its last seen state. */
export function actions(namespace, name, lease) {
  const shown = harmless(name);
  const post = (what, body) => ask("POST", path(namespace, `leases/${what}`), { name, ...body });
  const askFor = action("Ask", `Ask for ${shown}`, async () => {
    await post("ask", { uuid: lease().uuid });
    return `${shown}: its holder learns with its next renewal that it was asked for.`;
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
      const isHeld = stateOf(lease) === "held";
      show(askFor, may("hold", namespace) && isHeld && !lease.asked);
      show(revoke, may("admin", namespace) && isHeld);
      show(force, may("admin", namespace) && isKept(lease));
    },
  };
}

/** Revokes the term that the question was about. A renewal since the question was shown does not prevent it. */
async function revokeTerm(post, version, tries = 5) {
  try {
    await post("revoke", { version });
  } catch (error) {
    const now = error.code === "changed" && !error.record?.released ? error.record : undefined;
    if (now?.uuid !== version.uuid || tries <= 1) throw error;
    await revokeTerm(post, { uuid: now.uuid, renewals: now.renewals }, tries - 1);
  }
}

/** Fills an open row, and fills it again when its lease has changed. */
export function filling(namespace, name, inside) {
  const facts = make("dl", { class: "facts" });
  const heading = make("h3");
  const happened = make("ol", { class: "history" });
  const note = make("p", {
    class: "note",
    text: "The server keeps for seven days the events that pass through it, and those that it finds when it looks: once a second while the lease is being watched. The history begins anew when the server is restarted.",
  });
  inside.append(facts, heading, happened, note);
  let key = null;
  return async (lease) => {
    const { uuid, token, renewals, asked } = lease;
    const now = JSON.stringify([uuid, token, renewals, asked, stateOf(lease)]);
    if (key === now) return;
    key = now;
    facts.replaceChildren(...told(lease));
    try {
      const { entries } = await ask("GET", path(namespace, "leases/history", { name }));
      // Something has changed by now, and the history was requested again.
      if (key !== now) return;
      heading.textContent = entries.length > 0 ? `Seen since ${day(entries[0].at)}` : "No events were seen in seven days";
      happened.replaceChildren(...entries.toReversed().map(line));
    } catch (error) {
      if (key !== now) return;
      happened.replaceChildren(make("li", { class: "error", text: error.message }));
      key = null;
    }
  };
}

function told({ since, duration_ms: whole, renewals, uuid, data }) {
  const fact = (word, what) => make("div", {}, make("dt", { text: word }), make("dd", {}, what));
  const code = (text) => make("code", { text });
  const facts = [fact("Since", instant(since)), fact("Lease", span(whole)), fact("Renewals", String(renewals)), fact("Term", code(uuid))];
  if (!data) return facts;
  const text = binary(data);
  return [...facts, text === null ? fact("Data (base64)", code(data)) : fact("Data", code(harmless(text)))];
}
