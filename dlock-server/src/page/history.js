// What this page has seen happen to each lease since it was opened. The store keeps one record of a name and no journal.

import { harmless } from "./text.js";

const MOST_ENTRIES = 50;
const MOST_NAMES = 2_000;

export const opened = new Date();
const seen = new Map();

const who = ({ token, owner }) => `${harmless(owner) || "a holder without a label"}, token ${token}`;

/**
 * Notes what has changed of a lease; its state, as far as that is known: a record does not say that it was revoked, but its
 * term has another identity then, and the token that it had.
 */
export function note(key, lease, shown) {
  const before = seen.get(key);
  const isOther = before !== undefined && before.lease.uuid !== lease.uuid;
  const isRevoked = isOther ? before.lease.token === lease.token : (before?.isRevoked ?? false);
  const state = isRevoked && shown === "held" ? "revoked" : shown;
  const entries = before?.entries ?? [];
  const add = (text) => entries.push({ at: new Date(), text });
  if (!before) add(`${state}: ${who(lease)}`);
  else if (isOther && !isRevoked) {
    add(state === "closed" ? `closed, token ${lease.token}` : `granted to ${who(lease)}`);
    if (state === "released" || state === "expired") add(state);
  } else {
    renewed(entries, isOther ? 0 : lease.renewals - before.lease.renewals);
    if (lease.asked && !before.lease.asked) add("its holder was asked to give it back");
    if (state !== before.state) add(state);
  }
  if (entries.length > MOST_ENTRIES) entries.splice(0, entries.length - MOST_ENTRIES);
  seen.delete(key);
  seen.set(key, { lease, state, isRevoked, entries });
  // The one that was seen longest ago goes first.
  if (seen.size > MOST_NAMES) seen.delete(seen.keys().next().value);
  return state;
}

/** Renewals come all the time: those in a row are one entry. */
function renewed(entries, count) {
  if (count <= 0) return;
  const last = entries.at(-1);
  const times = count + (last?.renewals ?? 0);
  const entry = { at: new Date(), renewals: times, text: times === 1 ? "renewed" : `renewed ${times} times` };
  if (last?.renewals) entries[entries.length - 1] = entry;
  else entries.push(entry);
}

export const of = (key) => seen.get(key)?.entries ?? [];
