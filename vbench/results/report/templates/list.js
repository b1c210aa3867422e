// The list of samples: only rows in sight exist.

const ROW = 78;
const SPARE = 6;
const THUMB = [64, 48];
const MARKS = 8;
const list = document.getElementById("list");
const spacer = make("div", "");
let shown = [];
let selected = -1;

function refresh() {
  shown = filtered();
  spacer.style.height = `${shown.length * ROW}px`;
  const count = document.getElementById("count");
  const all = shown.length === COUNT;
  count.replaceChildren(all ? `${COUNT} samples` : `${shown.length} of ${COUNT} samples`);
  if (!all) {
    const clear = make("button", "", "Show all");
    clear.type = "button";
    clear.addEventListener("click", clearFilters);
    count.append(clear);
  }
  list.scrollTop = 0;
  const place = shown.indexOf(selected);
  if (place >= 0) reveal(place);
  draw();
}

function draw() {
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
  const rows = [];
  for (let place = first; place < last; place++) rows.push(rowOf(place));
  spacer.replaceChildren(...rows);
}

function rowOf(place) {
  const n = shown[place];
  const row = make("div", "row", thumbOf(n), make("div", "words",
    make("span", "first", told(firstText(n))), make("span", "about", told(nameOf(n)))), marksOf(n));
  row.style.top = `${place * ROW}px`;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", String(n === selected));
  row.dataset.n = n;
  return row;
}

function thumbOf(n) {
  const place = THUMBS[n];
  if (place < 0) return null;
  const [address, frames, width, height] = PICTURES[place];
  const thumb = make("div", "thumb cut");
  const scale = Math.max(THUMB[0] / width, THUMB[1] / height); // covers it, whatever its shape
  const image = picture(address);
  image.style.width = `${width * scale * frames}px`;
  image.style.height = `${height * scale}px`;
  image.style.left = `${(THUMB[0] - width * scale) / 2 - Math.floor(frames / 2) * width * scale}px`;
  image.style.top = `${(THUMB[1] - height * scale) / 2}px`;
  thumb.append(image);
  return thumb;
}

function picture(address) {
  const image = make("img", "");
  image.loading = "lazy";
  image.decoding = "async";
  image.alt = "";
  image.src = address;
  return image;
}

function marksOf(n) {
  if (!RUNS.length) return null;
  const most = RUNS.length > MARKS ? MARKS - 1 : RUNS.length;
  const marks = RUNS.slice(0, most).map((_, k) => mark(outcomeOf(k, n)));
  if (most < RUNS.length) {
    const more = make("i", "o more", `+${RUNS.length - most}`);
    more.title = `${RUNS.length - most} more runs: open the sample`;
    marks.push(more);
  }
  return make("div", `marks m${Math.min(RUNS.length, MARKS)}`, marks);
}

function mark(outcome) {
  const element = make("i", `o ${outcome}`, SIGNS[outcome]);
  element.title = outcome;
  return element;
}

function reveal(place) {
  const top = place * ROW;
  if (top < list.scrollTop) list.scrollTop = top;
  const over = top + ROW - list.scrollTop - list.clientHeight;
  if (over > 0) list.scrollTop += over;
}

/** Goes a number of samples on, or back. */
function step(by) {
  if (!shown.length) return;
  const place = shown.indexOf(selected);
  const next = place < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, place + by));
  open(shown[next]);
}

function buildList() {
  list.append(spacer);
  spacer.style.position = "relative";
  let waiting = false;
  list.addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(() => { waiting = false; draw(); });
    waiting = true;
  });
  window.addEventListener("resize", draw);
  list.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) open(Number(row.dataset.n));
  });
}
