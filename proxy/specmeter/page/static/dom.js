// Elements from values. Text is only ever text: nothing here or elsewhere makes markup of a string.

const SVG = "http://www.w3.org/2000/svg";

// What controls a terminal or the direction of text has no place in a name.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function clean(text) {
  return String(text).replace(CONTROLS, "\ufffd");
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A name from outside, kept apart from the direction of the text around it.
export function name(text, attributes = {}) {
  const cleaned = clean(text);
  return el("bdi", { class: "name", title: cleaned.slice(0, 300), ...attributes }, cleaned);
}

export function byId(id) {
  return document.getElementById(id);
}

// Replaces children only if what they show has changed, so that selections and focus stay.
export function showWhenChanged(element, what, render) {
  const key = JSON.stringify(what);
  if (element.shownKey !== key) {
    element.shownKey = key;
    element.replaceChildren(...render());
  }
}
