// Buttons that change something: they say what they do in words, and also why it failed.

import { by, make, tell } from "./dom.js";

let fading = null;

/** Says what was done, on screen and to screen readers. */
export function say(text) {
  const said = by("said");
  tell(said, text);
  said.classList.remove("bad");
  clearTimeout(fading);
  fading = setTimeout(() => tell(said, ""), 8_000);
}

export function complain(text) {
  say(text);
  by("said").classList.add("bad");
}

/** A button. `act()` does it and resolves to the text to say, or to `null` if nothing was done. */
export function action(word, label, act, { danger = false } = {}) {
  const button = make("button", { type: "button", class: danger ? "danger" : "", "aria-label": label, text: word });
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-busy") === "true") return;
    button.setAttribute("aria-busy", "true");
    try {
      const done = await act();
      if (done) say(done);
    } catch (error) {
      complain(`Not done. ${error.message}`);
    } finally {
      button.removeAttribute("aria-busy");
    }
  });
  return button;
}
