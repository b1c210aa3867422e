"""Prompts as named files: the papers' strings byte for byte, and the rules of slots."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hydra.utils import instantiate

from vbench.errors import ConfigError, DataError
from vbench.prompts import Template, check_marks, marked
from vbench.records import Request, Sample
from vbench.videobench_prompt import VideoBenchPrompt

CONF = Path(__file__).parents[1] / "conf" / "prompt"
FILES = sorted(path.relative_to(CONF).with_suffix("").as_posix() for path in CONF.rglob("*.yaml"))

PUBLISHED = {
    "velociti_v1_video_llava": "b894a3d7fce850dc",
    "velociti_v1_owl": "c80f24f7f8920576",
    "velociti_v1_gemini": "a0b0bad690f77bbe",
    "velociti_v2": "477b44092e85076b",
    "velociti_v2_mcq": "798138b7540d272f",
    "videocon": "9e1e6524a8809de2",
}
"""SHA-256 of what the published programs make of CAP, or ONE and TWO, computed from their own
string literals: katha-ai/VELOCITI, branches velociti_v1 and main, and datasets/atphard_scores.csv
of Hritikbansal/videocon, with <|video|> written <video>."""

VIDEOBENCH = {2: "fda38c9dae6694b0", 3: "32ba287c0f311b7f", 4: "f515f1b5c2dc807b",
              5: "47cf57b74737e652", 6: "262fd9a317e1902c"}  # fmt: skip
"""The same of PKU-YuanGroup/Video-Bench at 8b2101d: the f-strings of its README, evaluated for the
question `Why?` and the first k of OPTIONS."""

OPTIONS = ("a", "b c", "None", "d.", "e", "f")


def sample(*texts: str, question: str | None = "Why?") -> Sample:
    return Sample("t", "1", "mcq", "c", (), texts, 0, question=question)


def named(name: str) -> Template:
    prompt = instantiate(yaml.safe_load((CONF / f"{name}.yaml").read_text()))
    assert isinstance(prompt, Template)
    return prompt


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_prompts_are_theirs_to_the_byte(name: str) -> None:
    prompt = named(name)
    texts = ("ONE", "TWO") if "{first}" in prompt.template else ("CAP",)
    message = prompt.message(sample(*texts), texts)
    assert sha(message.text) == PUBLISHED[name]
    raw = name.startswith("velociti_v1_") and "gemini" not in name
    assert message.render == ("raw" if raw or name == "videocon" else "chat")


def test_pllavas_prompt_is_as_its_plain_conversation_renders_it() -> None:
    """No system prompt, `USER:<image> QUERY ASSISTANT:` (PLLaVA, tasks/eval/eval_utils.py)."""
    ask = (
        "Carefully watch the video and pay attention to the sequence of events, the details and "
        "actions of persons. Based on your observation, does the given video entail the caption?"
    )
    text = named("velociti_v1_pllava").message(sample("CAP"), ("CAP",)).text
    assert text == f"USER:<video> {ask} Caption: CAP ASSISTANT:"


@pytest.mark.parametrize("count", VIDEOBENCH)
def test_video_benchs_prompt_is_its_own_to_the_byte(count: int) -> None:
    texts = OPTIONS[:count]
    message = VideoBenchPrompt().message(sample(*texts), texts)
    assert sha(message.text) == VIDEOBENCH[count]


def test_video_bench_shows_no_single_option_and_has_no_words_for_seven() -> None:
    assert VideoBenchPrompt().message(sample("a"), ("a",)).text == "Why?"
    seven = tuple("abcdefg")
    with pytest.raises(DataError, match="no words for 7 options"):
        VideoBenchPrompt().message(sample(*seven), seven)
    text = VideoBenchPrompt(quirks=False).message(sample(*seven), seven).text
    assert text.startswith("Why?\nA. a\nB. b\n")
    assert text.endswith("A, B, C, D, E, F, G above, the one closest to the correct answer is:")


@pytest.mark.parametrize("name", FILES)
def test_a_text_that_marks_the_video_is_found_in_every_named_prompt(name: str) -> None:
    prompt = instantiate(yaml.safe_load((CONF / f"{name}.yaml").read_text()))
    if not hasattr(prompt, "message"):
        return
    for texts in (("a <video>", "b"), ("a <video>",), ()):
        with suppress(ConfigError):  # other prompts show as many
            message = prompt.message(sample(*texts), texts)
            shown = texts != () and "a <video>" in message.text
            assert marked(message) == ("a <video>" if shown else None)
            assert shown or not texts or name == "videobench/paper"  # shows no single option
            break
    else:
        pytest.fail("it shows neither two texts nor one nor none")


def test_texts_that_all_mark_the_video_are_refused() -> None:
    own = Template("{question}").message(replace(sample(), question="<video> Why?"), ())
    good = Template("See <video>. {question}").message(sample(), ())
    assert [marked(own), marked(good)] == ["<video> Why?", None]
    check_marks([])
    check_marks([Request((), message=own), Request((), message=good)])
    with pytest.raises(DataError, match=r"every question holds <video>(.|\n)*'<video> Why\?'"):
        check_marks([Request((), message=own)] * 2)


@pytest.mark.parametrize(
    ("name", "texts"),
    [("velociti_v2", ("a", "b")), ("pair", ("a",)), ("describe", ("a",)), ("options", ()),
     ("question", ("a", "b")), ("velociti_v2_mcq", ("a", "b", "c"))],
)  # fmt: skip
def test_a_prompt_of_another_scorer_is_refused(name: str, texts: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=rf"the scorer shows {len(texts)}"):
        named(name).message(sample(*texts), texts)


def test_braces_in_captions_are_text() -> None:
    texts = ("{second}", "{0} {caption}")
    text = Template("{first}|{second}").message(sample(*texts), texts).text
    assert text == "{second}|{0} {caption}"
    shown = Template("{options}").message(sample("{letter}"), ("{letter}",)).text
    assert shown == "A. {letter}"


def test_unknown_slots_and_raw_prompts_without_a_video_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"no slot \{captoin\}"):
        Template("{captoin}")
    with pytest.raises(ConfigError, match="it says so 0 times"):
        Template("{caption}", render="raw")
