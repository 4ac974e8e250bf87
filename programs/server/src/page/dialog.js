// Questions before actions that cannot be undone.

import { by, show, tell } from "./dom.js";
import { giveBack } from "./focus.js";

let withdrawing = () => {};

/** Withdraws the open question, if there is one: its subject is no longer shown. */
export const withdraw = () => withdrawing();

/**
 * Asks the user. `{ title, text, yes, name?, choice?, number? }`: `name` has to be typed before the button works; `choice`
 * is a box to tick; `number`, `{ label, value }`, is a field for a number above 0, or for none. Resolves to `null` for no, and to
 * `{ chosen, number }` for yes.
 */
export function question({ title, text, yes, name, choice, number }) {
  const ids = ["question", "question-form", "typed", "choice", "number", "question-yes"];
  const [dialog, form, typed, box, amount, button] = ids.map(by);
  const opener = document.activeElement;
  withdraw();
  tell(by("question-title"), title);
  tell(by("question-text"), text);
  tell(button, yes);
  show(by("question-name"), name !== undefined);
  tell(by("question-label"), name === undefined ? "" : `To continue, type the name: ${name}`);
  show(by("question-choice"), choice !== undefined);
  tell(by("question-choice-text"), choice ?? "");
  show(by("question-number"), number !== undefined);
  tell(by("number-label"), number?.label ?? "");
  amount.disabled = number === undefined;
  amount.value = number?.value ?? "";
  typed.value = "";
  box.checked = false;
  const fits = () => (name === undefined || typed.value === name) && amount.checkValidity();
  const look = () => {
    button.disabled = !fits();
  };
  look();
  return new Promise((resolve) => {
    const done = new AbortController();
    const { signal } = done;
    // At once: the event `close` comes a moment later, when the focus is back on the button and it may have asked
    // again.
    const end = (answer, next = opener) => {
      if (signal.aborted) return;
      done.abort();
      dialog.close();
      giveBack(next);
      resolve(answer);
    };
    withdrawing = () => end(null, by("main"));
    for (const field of [typed, amount]) field.addEventListener("input", look, { signal });
    form.addEventListener(
      "submit",
      (event) => {
        event.preventDefault();
        if (fits()) end({ chosen: box.checked, number: amount.value === "" ? null : Number(amount.value) });
      },
      { signal },
    );
    by("question-no").addEventListener("click", () => end(null), { signal });
    // The Escape key, and other ways to close it. An open dialog gets the event of the question before it.
    dialog.addEventListener("cancel", () => end(null), { signal });
    dialog.addEventListener("close", () => dialog.open || end(null), { signal });
    dialog.showModal();
    const field = name === undefined ? number && amount : typed;
    (field ?? by("question-no")).focus();
  });
}
