// Views, keys and theme.

const views = [...document.querySelectorAll(".view")];
const browser = document.getElementById("samples");

/** Opens a sample and notes it in the address, so that a link leads to it. */
function open(n) {
  selected = n;
  history.replaceState(null, "", `#samples/${encodeURIComponent(nameOf(n))}`);
  browser.classList.add("open");
  const place = shown.indexOf(n);
  if (place >= 0) reveal(place);
  draw();
  showDetail(n);
  fadeAll();
}

function closeDetail() {
  browser.classList.remove("open");
  selected = -1;
  history.replaceState(null, "", "#samples");
  emptyDetail();
  draw();
}

function emptyDetail() {
  const key = (name) => make("kbd", "", name);
  detail.replaceChildren(make("p", "empty", "Choose a sample. ", make("br", ""),
    key("j"), " ", key("k"), " next and previous   ", key("/"), " search   ", key("Esc"), " back"));
}

/** Lets what is wider than the screen fade out at its right for as long as there is more. */
function fade(element) {
  const rest = element.scrollWidth - element.clientWidth - element.scrollLeft;
  element.classList.toggle("more", rest > 2);
}

function fadeAll() {
  document.querySelectorAll(".wide, .answers").forEach(fade);
}

/** Shows the part that the address names: #results, #samples, #samples/TEST/ID, #settings. */
function route() {
  const [, name, sample] = /^#?([a-z]*)\/?(.*)$/s.exec(location.hash);
  const view = views.find((one) => one.id === name) ?? views[0];
  for (const one of views) one.hidden = one !== view;
  for (const link of document.querySelectorAll(".top nav a")) {
    const here = link.getAttribute("href") === `#${view.id}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  fadeAll();
  if (view !== browser) return;
  refresh();
  if (sample) {
    const meant = decode(sample);
    const n = SAMPLES.id.findIndex((_, k) => nameOf(k) === meant);
    if (n >= 0) open(n);
  } else if (selected >= 0) open(selected);
}

function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

const KEYS = {
  j: () => step(1), ArrowDown: () => step(1),
  k: () => step(-1), ArrowUp: () => step(-1),
  ArrowRight: () => turn(1), ArrowLeft: () => turn(-1),
  "/": () => document.getElementById("search").focus(),
  Escape: closeDetail,
};

document.addEventListener("keydown", (event) => {
  if (browser.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select, textarea");
  if (typing) {
    if (event.key === "Escape" || (event.key === "Enter" && typing.id === "search")) {
      typing.blur();
      if (event.key === "Enter" && shown.length) open(shown[0]);
      event.preventDefault();
    }
    return;
  }
  const act = KEYS[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

const dark = matchMedia("(prefers-color-scheme: dark)");
let theme = null;
try { theme = localStorage.getItem("vbench-theme"); } catch { /* a file may keep nothing */ }

function paint() {
  document.documentElement.dataset.theme = theme ?? (dark.matches ? "dark" : "light");
}

document.getElementById("theme").addEventListener("click", () => {
  theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("vbench-theme", theme); } catch { /* for this visit only */ }
  paint();
});
dark.addEventListener("change", paint);
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());

paint();
buildFilters();
buildList();
emptyDetail();
window.addEventListener("hashchange", route);
window.addEventListener("resize", fadeAll);
document.addEventListener("toggle", fadeAll, true);
document.addEventListener("scroll", ({ target }) => {
  if (target instanceof Element && target.matches(".wide, .answers")) fade(target);
}, true);
route();
document.documentElement.dataset.ready = "true";
prepareWhenIdle();
