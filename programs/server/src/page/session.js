// The user who is logged in, and what they may do: buttons for anything else are not shown. The server decides in
// any case.

import { by, show, tell } from "./dom.js";
import { ask } from "./server.js";
import { harmless } from "./text.js";

let session = { logged_in: false, rights: {} };

/** Whether the sender has any right. */
export const isKnown = () => Object.keys(session.rights).length > 0;

/** Whether the sender has this right, in this namespace or in all. */
export const may = (right, namespace) =>
  [namespace, "*"].some((place) => Object.hasOwn(session.rights, place) && session.rights[place].includes(right));

/** The namespaces that the server names and in which the sender may look at something. */
export const readable = () =>
  Object.keys(session.rights).filter((namespace) => namespace !== "*" && may("read", namespace)).sort();

/** Queries the server again; returns whether its answer has changed. */
export async function refresh() {
  const before = JSON.stringify(session);
  session = await ask("GET", "v1/session");
  show(by("who"), session.name !== undefined);
  tell(by("who-name"), harmless(session.name ?? ""));
  show(by("log-out"), session.logged_in);
  return JSON.stringify(session) !== before;
}

/** Wires the form and the button up. `changed()` is called after a log-in. */
export function start(changed) {
  const form = by("log-in-form");
  const [token, trouble] = [by("token"), by("log-in-trouble")];
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    tell(trouble, "");
    try {
      await ask("POST", "v1/session", { token: token.value });
      await refresh();
      if (!isKnown()) {
        throw new Error("The browser has not kept the log-in. It keeps log-ins only over https, or on this machine.");
      }
      token.value = "";
      await changed();
    } catch (error) {
      tell(trouble, error.message);
      token.focus();
    }
  });
  by("log-out").addEventListener("click", async () => {
    try {
      await ask("DELETE", "v1/session");
      // Nothing of the previous view stays behind.
      location.reload();
    } catch (error) {
      tell(by("trouble"), `You are still logged in: ${error.message}`);
    }
  });
}
