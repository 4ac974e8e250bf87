// Questions before what cannot be taken back.

import { by, show, tell } from "./dom.js";

/**
 * Asks. `{ title, text, yes, name?, choice? }`: `name` has to be typed before the button works; `choice` is a box to tick.
 * Resolves to `null` for no, and to `{ chosen }` for yes.
 */
export function question({ title, text, yes, name, choice }) {
  const [dialog, form, typed, box, button] = ["question", "question-form", "typed", "choice", "question-yes"].map(by);
  tell(by("question-title"), title);
  tell(by("question-text"), text);
  tell(button, yes);
  show(by("question-name"), name !== undefined);
  tell(by("question-label"), name === undefined ? "" : `To go on, type the name: ${name}`);
  show(by("question-choice"), choice !== undefined);
  tell(by("question-choice-text"), choice ?? "");
  typed.value = "";
  box.checked = false;
  const fits = () => name === undefined || typed.value === name;
  const look = () => {
    button.disabled = !fits();
  };
  look();
  return new Promise((resolve) => {
    const done = new AbortController();
    const { signal } = done;
    // At once: the event `close` comes a moment after the focus is back at the button that was pressed.
    const end = (answer) => {
      if (signal.aborted) return;
      done.abort();
      dialog.close();
      resolve(answer);
    };
    typed.addEventListener("input", look, { signal });
    form.addEventListener(
      "submit",
      (event) => {
        event.preventDefault();
        if (fits()) end({ chosen: box.checked });
      },
      { signal },
    );
    by("question-no").addEventListener("click", () => end(null), { signal });
    // The key Escape, and whatever else closes it.
    for (const name of ["cancel", "close"]) dialog.addEventListener(name, () => end(null), { signal });
    dialog.showModal();
    (name === undefined ? by("question-no") : typed).focus();
  });
}
