// Text for people: what others have chosen, made harmless to the eye, and times.

// Characters that show nothing, or change how others are shown: controls, overrides of the direction, lone surrogates,
// unassigned code points, letters without a shape, and all spaces but the usual one. The backslash is among them so
// that no name can look like another.
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\\]|(?! )\p{Zs}/gu;

const escaped = (letter) => (letter === "\\" ? "\\\\" : `\\u{${letter.codePointAt(0).toString(16)}}`);

/** One line of text that another client has chosen. */
export const harmless = (text) => String(text).replace(HIDDEN, escaped);

/** The first line of a text that another client has chosen. */
export function firstLine(text) {
  const [first, ...more] = String(text).trim().split("\n");
  return harmless(first) + (more.length > 0 ? " …" : "");
}

/** The same for text of several lines. */
export const harmlessLines = (text) => String(text).split("\n").map(harmless).join("\n");

/** A value as indented JSON; strings in it are escaped once more than JSON does. */
export const json = (value) =>
  JSON.stringify(value, null, 2).replace(/(?!\n)(?:[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs})/gu, escaped);

/** A span: "0.8 s", "24 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
export function span(millis) {
  const seconds = millis / 1000;
  if (seconds < 10) return `${(Math.ceil(seconds * 10) / 10).toFixed(1)} s`;
  const whole = Math.ceil(seconds);
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const at = units.findIndex(([size]) => whole >= size);
  const parts = [];
  let rest = whole;
  for (const [size, unit] of units.slice(at, at + 2)) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * size;
  }
  return parts.join(" ");
}

/** The text encoded by these bytes, given in base64; `null` if they are not text. */
export function binary(base64) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
  } catch {
    return null;
  }
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** A day and a time of it, as this browser writes them. An instant that no calendar has stays as it is. */
export function instant(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? harmless(text) : DAY.format(date);
}

/** The time of a day, and which day that was, if it was not today. */
export function day(text) {
  const date = new Date(text);
  return date.toDateString() === new Date().toDateString() ? CLOCK.format(date) : instant(text);
}

export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
