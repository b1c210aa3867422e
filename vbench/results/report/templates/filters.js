// Which samples are shown.

const wanted = { search: "", test: "", outcome: "", status: "", model: "", agree: "" };
let haystacks = null;

/** Makes all that can be searched, in lower case, a string per sample: for so many samples more. */
function prepareSearch(more = COUNT) {
  haystacks ??= [];
  const last = Math.min(COUNT, haystacks.length + more);
  for (let n = haystacks.length; n < last; n++) {
    let text = `${nameOf(n)}\n${SAMPLES.cluster[n]}`;
    for (const place of SAMPLES.texts[n]) text += `\n${DATA.strings[place]}`;
    if (SAMPLES.question[n] >= 0) text += `\n${DATA.strings[SAMPLES.question[n]]}`;
    for (const place of SAMPLES.clips[n]) text += `\n${DATA.clips[place][0]}\n${DATA.clips[place][1]}`;
    for (const [key, value] of SAMPLES.groups[n]) text += `\n${key}=${value}`;
    haystacks.push(text.toLowerCase());
  }
  return last === COUNT;
}

/** Prepares the search while nothing else is to be done, so that the first word is found at once. */
function prepareWhenIdle() {
  if (prepareSearch(500)) return;
  if (window.requestIdleCallback) requestIdleCallback(prepareWhenIdle);
  else setTimeout(prepareWhenIdle, 20);
}

function searchable() {
  prepareSearch();
  return haystacks;
}

/** Returns the numbers of the samples that all filters let through. */
function filtered() {
  const words = wanted.search.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = words.length ? searchable() : null;
  const test = DATA.tests.indexOf(wanted.test);
  const runs = wanted.model === "" ? RUNS.map((_, k) => k) : [Number(wanted.model)];
  const cut = wanted.outcome === "truncated" ? runs.map((k) => new Set(DATA.answers[k].truncated)) : [];
  const found = [];
  for (let n = 0; n < COUNT; n++) {
    if (test >= 0 && SAMPLES.test[n] !== test) continue;
    if (wanted.outcome === "truncated") {
      if (!cut.some((own) => own.has(n))) continue;
    } else if (wanted.outcome && !runs.some((k) => outcomeOf(k, n) === wanted.outcome)) continue;
    if (wanted.status && !runs.some((k) => statusOf(k, n) === wanted.status)) continue;
    if (wanted.agree && (wanted.agree === "differ") !== differ(n)) continue;
    if (texts !== null && !words.every((word) => texts[n].includes(word))) continue;
    found.push(n);
  }
  return found;
}

/** Says whether not all models that were asked a sample fared alike. */
function differ(n) {
  const seen = new Set(DATA.answers.map((run) => run.outcomes[n]));
  seen.delete("-");
  return seen.size > 1;
}

function selection(name, label, options) {
  const select = make("select", "");
  select.setAttribute("aria-label", label);
  select.dataset.filter = name;
  for (const [value, text] of [["", label], ...options]) {
    const option = make("option", "", text);
    option.value = value;
    select.append(option);
  }
  select.addEventListener("change", () => {
    wanted[name] = select.value;
    select.classList.toggle("set", select.value !== "");
    refresh();
  });
  return select;
}

function plain(text) {
  return told(text).textContent;
}

/** Builds the filters that can make a difference. */
function buildFilters() {
  const choices = document.getElementById("choices");
  const same = (values) => values.map((value) => [value, plain(value)]);
  if (DATA.tests.length > 1) choices.append(selection("test", "All tests", same(DATA.tests)));
  if (RUNS.length) {
    const outcomes = ["right", "wrong", "tie", "unscored"].map((value) => [value, value]);
    if (DATA.answers.some((run) => run.truncated.length)) outcomes.push(["truncated", "truncated"]);
    choices.append(selection("outcome", "All outcomes", outcomes));
    if (DATA.statuses.length > 1) choices.append(selection("status", "All statuses", same(DATA.statuses)));
  }
  if (RUNS.length > 1) {
    choices.append(
      selection("model", "Any model", RUNS.map((name, k) => [String(k), plain(name)])),
      selection("agree", "Agree or not", [["differ", "models differ"], ["agree", "models agree"]]),
    );
  }
  document.getElementById("search").addEventListener("input", (event) => {
    wanted.search = event.target.value;
    refresh();
  });
}

function clearFilters() {
  for (const name of Object.keys(wanted)) wanted[name] = "";
  document.getElementById("search").value = "";
  for (const select of document.querySelectorAll("#choices select")) {
    select.value = "";
    select.classList.remove("set");
  }
  refresh();
}
