"""The report as a reader uses it, in a real Chromium without a window, from file://."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from vbench.report import report_runs

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "</script><script>document.title = 'taken'</script>",
    '"><img src=x onerror="document.title = \'taken\'">',
    "abc\u202etxt.exe",
    "a\x00b\x1b[2J",
    "<svg onload=\"document.title = 'taken'\">",
    "<a href=\"javascript:document.title='taken'\">here</a>",
)
SAMPLES = 400


def chromium() -> str | None:
    named = os.environ.get("VBENCH_CHROMIUM")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return named or next((found for found in map(shutil.which, names) if found), None)


@pytest.fixture(scope="module")
def runs(
    evaluate_rows: Callable[..., Path],
    write_grey: Callable[..., None],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Path]:
    root = tmp_path_factory.mktemp("videos")
    names = [f"film {k} <b>.mp4" for k in range(4)]
    for k, name in enumerate(names):
        write_grey(root / name, first=10 * k)
    rows = [
        {"id": f"s{n}", "video": names[n % 4], "positive": f"a cat number {n}", "negative": "a dog"}
        for n in range(SAMPLES - len(HOSTILE))
    ]
    rows += [
        {"id": f"h{n}", "video": names[0], "positive": text, "negative": text + "!"}
        for n, text in enumerate(HOSTILE)
    ]
    words = [f"dataset.root={root}"]
    seeing = ["model=toy/clip", "sampler=uniform_midpoints", "sampler.num_frames=4"]
    return [evaluate_rows(rows, *words, *seeing), evaluate_rows(rows, *words)]


@pytest.fixture(scope="module")
def records(runs: list[Path]) -> list[pd.DataFrame]:
    return [pd.read_parquet(run / "records.parquet") for run in runs]


@pytest.fixture(scope="module")
def report(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report_runs([str(run) for run in runs], str(tmp_path_factory.mktemp("report")))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium here: apt install chromium, or name one in VBENCH_CHROMIUM")
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as tool:
        opened = tool.chromium.launch(executable_path=program, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The list of samples; what the page complains of or reaches for fails the test."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    trouble: list[str] = []
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on("console", lambda message: trouble.append(message.text))
    tab.on("dialog", lambda dialog: trouble.append(dialog.message))
    tab.on(
        "request",
        lambda request: request.url.startswith("file://") or trouble.append(request.url),
    )
    tab.goto(f"{report.as_uri()}#samples")
    tab.wait_for_selector("#list .row")
    yield tab
    assert trouble == []
    assert tab.title() != "taken"
    tab.close()


def count(page: Any) -> int:
    return int(page.inner_text("#count").split()[0])


def test_filters_leave_what_they_say(page: Any, records: list[pd.DataFrame]) -> None:
    seeing, blind = records
    assert count(page) == SAMPLES
    page.select_option("[data-filter=model]", "1")
    page.select_option("[data-filter=outcome]", "right")
    assert count(page) == (blind.outcome == "right").sum() > 0
    page.select_option("[data-filter=agree]", "differ")
    differ = blind.outcome.to_numpy() != seeing.outcome.to_numpy()
    assert count(page) == ((blind.outcome == "right") & differ).sum() > 0
    page.click("#count button")
    page.fill("#search", "number 12 cat")
    assert count(page) == sum("12" in str(n) for n in range(SAMPLES - len(HOSTILE)))
    page.fill("#search", "no such words")
    assert count(page) == 0
    assert page.query_selector("#list .row") is None


def test_only_rows_in_sight_exist(page: Any) -> None:
    assert len(page.query_selector_all("#list .row")) < 40
    page.evaluate("document.getElementById('list').scrollTop = 1e6")
    page.wait_for_selector(f"#list .row[data-n='{SAMPLES - 1}']")
    assert len(page.query_selector_all("#list .row")) < 40


def test_keys_lead_through_samples(page: Any) -> None:
    def here() -> str:
        return str(page.inner_text("#detail h2"))

    page.keyboard.press("j")
    assert here() == "s0"
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    assert here() == "s2"
    page.keyboard.press("k")
    assert here() == "s1"
    assert page.url.endswith("#samples/table%2Fs1")
    page.keyboard.press("/")
    page.keyboard.type("number 30j")
    assert page.input_value("#search") == "number 30j"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.query_selector("#detail h2") is None


def test_two_models_stand_side_by_side(page: Any, records: list[pd.DataFrame]) -> None:
    page.click("#list .row")
    heads = [th.inner_text() for th in page.query_selector_all(".scores thead th")]
    assert heads[1:] == ["toy/clip", "oracle/random"]
    rows = page.query_selector_all(".scores tbody tr")
    for text in (0, 1):
        shown = [float(td.inner_text()) for td in rows[text].query_selector_all("td")[1:]]
        assert shown == pytest.approx([r.scores[0][text] for r in records], abs=1e-4)
    verdicts = [v.inner_text().split()[-1] for v in rows[2].query_selector_all(".verdict")]
    assert verdicts == [r.outcome[0] for r in records]
    assert "is-right" in rows[0].get_attribute("class")
    assert len(page.query_selector_all(".answer")) == 2
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".answer.focus h4").startswith("oracle/random")


def test_frames_are_shown_with_their_times(page: Any, records: list[pd.DataFrame]) -> None:
    page.click("#list .row")
    shown = [cell.inner_text() for cell in page.query_selector_all(".frame")]
    seen = zip(records[0].timestamps_s[0][0], records[0].frame_indices[0][0], strict=True)
    assert sorted(sorted(words.split()) for words in shown) == sorted(
        sorted(words) for words in ([f"#{i}", f"{t:.2f}", "s"] for t, i in seen)
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.frame img')].every((image) => image.naturalWidth === 384)"
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_caption_is_only_read(page: Any, text: str) -> None:
    scripts = page.evaluate("document.scripts.length")
    page.goto(page.url.partition("#")[0] + f"#samples/table%2Fh{HOSTILE.index(text)}")
    page.wait_for_selector("#detail h2")
    (shown, _) = (own.inner_text() for own in page.query_selector_all("#detail .pair > bdi"))
    plain = text.replace("\u202e", "U+202E").replace("\x00", "U+0000").replace("\x1b", "U+001B")
    assert shown == plain
    assert page.evaluate("document.scripts.length") == scripts
    assert page.query_selector("#samples svg, #samples script, #samples a, #samples b b") is None
    sources = [image.get_attribute("src") for image in page.query_selector_all("#samples img")]
    assert all(source.endswith(".jpg") for source in sources)
    page.wait_for_timeout(50)


def test_a_link_leads_to_a_sample(page: Any, report: Path) -> None:
    page.goto("about:blank")
    page.goto(f"{report.as_uri()}#samples/table%2Fs7")
    page.wait_for_selector("#detail h2")
    assert page.inner_text("#detail h2") == "s7"


def test_light_and_dark(page: Any) -> None:
    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert ground() == "rgb(255, 255, 255)"
    page.click("#theme")
    dark = ground()
    assert dark != "rgb(255, 255, 255)"
    page.click("#theme")
    page.emulate_media(color_scheme="dark")
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert ground() == dark


def test_a_phone_shows_all_of_it_without_sideways_scrolling(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for view in ("results", "samples", "settings"):
        page.click(f"nav a[href='#{view}']")
        assert page.is_visible(f"#{view}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
    page.click("nav a[href='#samples']")
    page.click("#list .row")
    assert not page.is_visible("#list")
    assert page.is_visible("#detail h2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click(".back")
    assert page.is_visible("#list")


def test_no_bar_hides_what_a_link_leads_to(page: Any) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 700})
        page.click("nav a[href='#results']")
        page.wait_for_timeout(50)
        bar, head = (
            page.locator(place).first.bounding_box() for place in (".top", "#results section h2")
        )
        assert head["y"] >= bar["y"] + bar["height"]


def test_what_is_wider_than_a_phone_keeps_its_names_and_fades(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("nav a[href='#results']")
    value = page.locator(".glance .value").first.bounding_box()
    assert value["x"] + value["width"] <= 390
    page.click("text=All numbers")
    page.wait_for_selector(".wide.more > .numbers")
    page.evaluate("document.querySelector('.numbers').parentElement.scrollLeft = 9999")
    page.wait_for_selector(".wide:not(.more) > .numbers")
    name = page.locator(".numbers tbody th").first.bounding_box()
    assert name["x"] == page.locator(".glance").bounding_box()["x"]


def test_a_screenshot_is_no_blank_page(page: Any, tmp_path: Path) -> None:
    from PIL import Image

    page.click("nav a[href='#results']")
    page.screenshot(path=tmp_path / "results.png")
    with Image.open(tmp_path / "results.png") as picture:
        colours = picture.convert("RGB").getcolors(1 << 20)
    assert colours is not None
    assert len(colours) > 50
