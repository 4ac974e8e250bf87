// The events of a lease that the server has seen, in words.

import { make } from "./dom.js";
import { day, harmless, plural } from "./text.js";

/** Events seen within this time of happening are shown without the uncertainty. */
const EXACT = 5_000;

const WORDS = {
  held: (who) => `held: ${who}`,
  granted: (who) => `granted to ${who}`,
  renewed: (_, times) => (times === 1 ? "renewed" : `renewed ${plural(times, "time")}`),
  asked: () => "its holder was asked to give it back",
  forced: () => "freed by force",
};

/** One line of the history. */
export function line({ at, within_ms: within, what, times, token, owner }) {
  const who = `${harmless(owner) || "a holder without a label"}, token ${token}`;
  const isFirst = within === undefined;
  const words = WORDS[what]?.(who, times) ?? (isFirst ? `${what}: ${who}` : what);
  const before = within > EXACT ? new Date(Date.parse(at) - within) : null;
  const text = before ? `${day(before)} – ${day(at)}` : day(at);
  return make("li", {}, make("time", { datetime: at, text }), make("bdi", { text: words }));
}
