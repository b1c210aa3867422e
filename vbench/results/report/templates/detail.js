// One sample: its clips with the frames seen, its texts, and every model's scores beside them.

const detail = document.getElementById("detail");
const TALL = 72; // as high as strips are made

function showDetail(n) {
  const { strings, frames, answers } = detailsOf(n);
  const clips = clipsOf(n);
  detail.replaceChildren(
    head(n),
    ...(questionOf(n) === null ? [] : [make("p", "question", told(questionOf(n)))]),
    ...openTarget(n),
    ...scoreParts(n, clips, answers),
    ...clipParts(n, clips, answers, frames),
    ...answerParts(n, answers, strings),
  );
  detail.scrollTop = 0;
}

function head(n) {
  const place = shown.indexOf(n);
  const back = make("button", "back", "← List");
  back.addEventListener("click", closeDetail);
  const steps = make("span", "");
  for (const [sign, by, what] of [["↑", -1, "Previous"], ["↓", 1, "Next"]]) {
    const button = make("button", "", sign);
    button.title = `${what} sample`;
    button.addEventListener("click", () => step(by));
    steps.append(button);
  }
  const where = place < 0 ? "" : `${place + 1} of ${shown.length} `;
  const groups = SAMPLES.groups[n].map(([key, value]) => fact(key, value));
  return make("header", "",
    make("div", "crumbs", make("span", "", back, told(DATA.tests[SAMPLES.test[n]])), make("span", "", where, steps)),
    make("h2", "", told(SAMPLES.id[n])),
    make("div", "facts", fact("kind", DATA.kinds[SAMPLES.kind[n]]), fact("source", SAMPLES.cluster[n]), groups));
}

function fact(name, value) {
  return make("span", "", `${name} `, make("b", "", told(value)));
}

function openTarget(n) {
  if (DATA.kinds[SAMPLES.kind[n]] !== "open" || SAMPLES.target[n] === null) return [];
  return [make("h3", "", "Reference answer"), make("p", "", told(SAMPLES.target[n]))];
}

/** Returns each clip with its frames; models that saw the same frames share one strip. */
function clipParts(n, clips, answers, frames) {
  const parts = [make("h3", "", clips.length > 1 ? "Clips" : "Clip")];
  clips.forEach((clip, c) => {
    const end = clip.end === null ? "to its end" : `to ${clip.end} s`;
    const span = clip.start === 0 && clip.end === null ? "whole file" : `${clip.start} s ${end}`;
    const number = clips.length > 1 ? `${c + 1}  ` : "";
    const element = make("div", "clip",
      make("p", "where", number, make("b", "", told(clip.video)), `, ${span}, `, told(clip.path)));
    const seen = new Map();
    answers.forEach((answer, k) => {
      const place = answer?.frames?.[c] ?? -1;
      if (place >= 0) seen.set(place, [...(seen.get(place) ?? []), k]);
    });
    for (const [place, runs] of seen) element.append(...strip(frames[place], runs, seen.size > 1));
    if (!seen.size) element.append(make("p", "times", missing(answers)));
    parts.push(element);
  });
  return parts;
}

function missing(answers) {
  if (!RUNS.length) return answers[0]?.reason ?? "no picture was made of this clip";
  return "no frames: no model here was shown any of this clip";
}

function strip(view, runs, named) {
  const parts = [];
  const count = `${view.at.length} ${view.at.length === 1 ? "frame" : "frames"}`;
  if (named) parts.push(make("p", "times", `${count}: `, told(runs.map((k) => RUNS[k]).join(", "))));
  const places = view.shown ?? view.at.map((_, i) => i);
  if (view.picture >= 0) {
    const [address, total, width, height] = PICTURES[view.picture];
    const wide = Math.min((TALL * width) / height, 220);
    const cells = places.map((at, i) => cell(address, [i, total, wide], [view.s[at], view.at[at]]));
    parts.push(make("div", "strip", cells));
  }
  const listed = make("p", "times", view.at.map((index, i) => `${seconds(view.s[i])} (${index})`).join("   "));
  if (view.picture < 0) parts.push(listed);
  else if (places.length < view.at.length) {
    parts.push(make("details", "more",
      make("summary", "", `${places.length} of ${count} pictured; times of all`), listed));
  }
  return parts;
}

function cell(address, [place, total, wide], [time, index]) {
  const cut = make("div", "cut");
  cut.style.width = `${wide}px`;
  cut.style.height = `${TALL}px`;
  const image = picture(address);
  image.style.width = `${wide * total}px`;
  image.style.height = "100%";
  image.style.left = `${-place * wide}px`;
  cut.append(image);
  const number = make("span", "", `#${index}`);
  number.title = "number of the frame in its file, from 0";
  return make("div", "frame", cut, number, seconds(time));
}

/** Returns the table of pairs: a row per clip and text, a column per model. */
function scoreParts(n, clips, answers) {
  const texts = textsOf(n);
  const table = make("table", RUNS.length > 3 ? "scores many" : "scores");
  const heads = RUNS.map((name, k) => make("th", "", make("i", `mark r${k % 10}`), breaking(name)));
  const verdicts = RUNS.map((_, k) => named(k, make("td", "", verdict(k, n))));
  if (RUNS.length) table.append(make("thead", "", make("tr", "", make("th", "", ""), heads)));
  const body = make("tbody", "");
  clips.forEach((_, c) => texts.forEach((text, t) => body.append(pairRow(n, [c, t], text, answers))));
  if (RUNS.length) body.append(make("tr", "", make("td", "", ""), verdicts));
  table.append(body);
  if (!texts.length) return RUNS.length ? [make("h3", "", "Outcome"), make("div", "wide", table)] : [];
  return [make("h3", "", RUNS.length ? "Texts and scores" : "Texts"), make("div", "wide", table)];
}

/** Returns a name that may go on in a new line after each of its parts. */
function breaking(name) {
  return name.split(/(?<=[_=/])/).flatMap((part) => [told(part), document.createElement("wbr")]);
}

function pairRow(n, [c, t], text, answers) {
  const clips = SAMPLES.clips[n].length, texts = SAMPLES.texts[n].length;
  const letter = SAMPLES.letters[n][t] ?? String(t + 1);
  const which = clips > 1 && texts > 1 ? `clip ${c + 1} · ${letter}` : clips > 1 ? `clip ${c + 1}` : letter;
  const cells = RUNS.map((_, k) => named(k, scoreCell(k, answers[k]?.scores, c * texts + t, clips * texts)));
  return make("tr", isRight(n, c, t) ? "is-right" : "",
    make("td", "pair", make("span", "which", told(which)), told(text)), cells);
}

/** Notes a cell's model, which a narrow screen shows in place of the table's head. */
function named(k, cell) {
  if (RUNS.length > 1) cell.dataset.run = plain(RUNS[k]);
  return cell;
}

function scoreCell(k, scores, place, size) {
  if (!scores || scores.length !== size || scores[place] === null) return make("td", "", "–");
  const best = scores[place] === Math.max(...scores.filter((score) => score !== null));
  const cell = make("td", best ? "top-score" : "", number(scores[place]));
  if (DATA.probable[k]) {
    const bar = make("i", "");
    bar.style.width = `${100 * scores[place]}%`;
    cell.append(make("span", "bar", bar));
  }
  return cell;
}

function verdict(k, n) {
  const outcome = outcomeOf(k, n);
  if (outcome === "none") return make("span", "quiet", "not asked");
  return make("span", "verdict", mark(outcome), outcome);
}
