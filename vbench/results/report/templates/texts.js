// Texts of a dataset: shown as text, never read as HTML, with every unseen character spelled out.

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]/u;

/** Returns an element with a class and children: strings become text, null is left out. */
function make(tag, style, ...children) {
  const element = document.createElement(tag);
  if (style) element.className = style;
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

/** Returns a text of the dataset as an element of its own direction. */
function told(text) {
  const element = document.createElement("bdi");
  let rest = String(text);
  for (let found = UNSEEN.exec(rest); found; found = UNSEEN.exec(rest)) {
    const code = found[0].codePointAt(0).toString(16).padStart(4, "0");
    element.append(rest.slice(0, found.index), make("span", "unseen", `U+${code.toUpperCase()}`));
    rest = rest.slice(found.index + found[0].length);
  }
  element.append(rest);
  return element;
}

function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2);
  return value.toFixed(size >= 100 ? 1 : 4);
}

function seconds(value) {
  return `${value.toFixed(2)} s`;
}
