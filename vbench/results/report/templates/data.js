// The page's data: the index is read at once, details when a sample is opened.

function block(name) {
  const element = document.getElementById(name);
  return element ? JSON.parse(element.textContent) : null;
}

const DATA = block("index");
const { table: PICTURES, thumbs: THUMBS } = block("pictures");
const SAMPLES = DATA.samples;
const COUNT = SAMPLES.id.length;
const RUNS = DATA.runs;
const OUTCOMES = { r: "right", w: "wrong", t: "tie", u: "unscored", "-": "none" };
const SIGNS = { right: "✓", wrong: "×", tie: "=", unscored: "?", none: "·" };
const blocks = new Map();

/** Returns what is known of a sample beyond the index: an entry per run, null where it has none. */
function detailsOf(n) {
  const which = Math.floor(n / DATA.per_block);
  if (!blocks.has(which)) blocks.set(which, block(`details-${which}`));
  const { strings, frames, rows } = blocks.get(which);
  return { strings, frames, answers: rows[n - which * DATA.per_block] };
}

function outcomeOf(run, n) {
  return OUTCOMES[DATA.answers[run].outcomes[n]];
}

function statusOf(run, n) {
  const place = DATA.answers[run].statuses[n];
  return place < 0 ? null : DATA.statuses[place];
}

function textsOf(n) {
  return SAMPLES.texts[n].map((place) => DATA.strings[place]);
}

function questionOf(n) {
  return SAMPLES.question[n] < 0 ? null : DATA.strings[SAMPLES.question[n]];
}

function clipsOf(n) {
  return SAMPLES.clips[n].map((place) => {
    const [video, path, start, end] = DATA.clips[place];
    return { video, path, start, end };
  });
}

function nameOf(n) {
  return `${DATA.tests[SAMPLES.test[n]]}/${SAMPLES.id[n]}`;
}

/** Says whether a pair of clip and text belongs together; null where nobody knows. */
function isRight(n, clip, text) {
  const kind = DATA.kinds[SAMPLES.kind[n]];
  if (kind === "match") return clip === text;
  if (kind === "open" || SAMPLES.target[n] === null) return null;
  return SAMPLES.target[n] === (kind === "t2v" ? clip : text);
}

/** Returns the text by which a list tells a sample: its question, or its right text. */
function firstText(n) {
  const texts = textsOf(n);
  const right = texts.findIndex((_, text) => isRight(n, 0, text));
  return questionOf(n) ?? texts[Math.max(0, right)] ?? SAMPLES.target[n] ?? "";
}
