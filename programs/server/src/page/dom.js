// Elements, made without any text being parsed as HTML: all that is shown goes through textContent.

import { harmless } from "./text.js";

export const by = (id) => document.getElementById(id);

/** An element with these attributes and children. `text` is its text; a handler is given as `on: { click: .. }`. */
export function make(tag, { text, on = {}, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const [name, handler] of Object.entries(on)) element.addEventListener(name, handler);
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

/** Text that another client has chosen, isolated so that it does not change the direction of the text next to it. */
export const foreign = (text, attributes = {}) => make("bdi", { ...attributes, text: harmless(text) });

/** Changes a text only if it differs: the rest of the page, and a screen reader, are not disturbed. */
export function tell(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible;
}

export function attribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** A cell of a table. On a narrow screen rows become cards, and `label` names the cell. */
export const cell = (label, ...children) =>
  make("td", { role: "cell", "data-label": label }, make("div", { class: "value" }, ...children));
