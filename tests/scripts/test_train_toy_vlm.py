"""The scripts that train the tiny video-language model, against what ships."""

import importlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from vbench.datasets.toy.captions import chrono_caption, coref_caption, event_caption
from vbench.datasets.toy.statements import is_true, say, say_in_order, say_same_person
from vbench.datasets.toy.world import ToyClip, benchmark_clip, training_clip

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "vbench" / "assets" / "toy_vlm"
PIECES = ("words", "statements", "questions", "model", "rows")


@pytest.fixture(scope="module")
def scripts() -> Iterator[dict[str, ModuleType]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        modules = {name: importlib.import_module(f"toy_vlm_{name}") for name in PIECES}
        yield modules | {"train": importlib.import_module("train_toy_vlm")}


def test_checkpoint_is_of_the_scripts_design(
    scripts: dict[str, ModuleType], model: AutoModelForImageTextToText, tmp_path: Path
) -> None:
    built = scripts["train"].untrained(scripts["train"].Design())
    shapes = [{k: v.shape for k, v in m.state_dict().items()} for m in (model, built)]
    assert shapes[0] == shapes[1]
    for part in ("text_config", "vision_config"):
        asked = getattr(built.config, part).to_diff_dict()
        assert getattr(model.config, part).to_diff_dict() == asked | {"dtype": "float32"}
    scripts["words"].build_processor().save_pretrained(tmp_path)
    for file in tmp_path.iterdir():
        shipped = (CHECKPOINT / file.name).read_text()
        if file.suffix == ".json":
            assert json.loads(file.read_text()) == json.loads(shipped)
        else:
            assert file.read_text() == shipped


def test_captions_and_prompts_are_known_and_come_back(
    scripts: dict[str, ModuleType], processor: AutoProcessor
) -> None:
    words = scripts["words"]
    texts = [words.SHORT_HEAD, words.SHORT_TAIL, words.LONG_HEAD, words.LONG_TAIL, words.PAIR_HEAD]
    texts += [words.PAIR_TAIL, words.DESCRIBE, words.OPTIONS_TAIL.format(count="four", letters="A")]
    for index in range(60):
        events = benchmark_clip(9, index).events
        captions = [event_caption(event) for event in events]
        for a, b in combinations(events, 2):
            captions += [chrono_caption(b, a), coref_caption(b, a)]
        assert processor.tokenizer.batch_decode(processor.tokenizer(captions).input_ids) == captions
        texts += captions
    for text, ids in zip(texts, processor.tokenizer(texts).input_ids, strict=True):
        assert processor.tokenizer.unk_token_id not in ids, text
        assert ids == [words.vocabulary()[word] for word in words.words_of(text)]


def test_statements_are_written_and_judged_like_the_benchmarks(
    scripts: dict[str, ModuleType],
) -> None:
    questions, write = scripts["questions"], scripts["statements"].write
    say_kind = {"one": say, "then": say_in_order, "same": say_same_person}
    verdicts = {(kind, truth): 0 for kind in say_kind for truth in (False, True)}
    words = {k: word for word, k in scripts["words"].vocabulary().items()}
    for index in range(40):
        clip, other = training_clip(index), training_clip(index + 1)
        examiner = questions.Examiner(clip, [other], random.Random(index))
        for kind, change in [(k, c) for k in say_kind for c, _ in questions.CHANGES]:
            drawn = [examiner.true(kind), examiner.false(kind, change)]
            for statement, expected in zip(drawn, (True, False), strict=True):
                text = scripts["statements"].Text()
                said = say_kind[statement.kind](*statement.events)
                truth = write(statement, clip, text)
                assert truth is expected is is_true(said, clip), said.text
                assert [words[k] for k in text.ids] == scripts["words"].words_of(said.text)
                assert text.truths[-1][1][-1] == truth
                verdicts[statement.kind, truth] += 1
    assert min(verdicts.values()) > 30


def test_words_so_far_match_the_events_they_are_true_of(scripts: dict[str, ModuleType]) -> None:
    clip = benchmark_clip(0, 0)
    event = clip.events[3]
    statement = scripts["questions"].Statement("one", (event,))
    text = scripts["statements"].Text()
    scripts["statements"].write(statement, clip, text)
    seen = dict(text.truths)
    scenes = [int(other.scene == event.scene) for other in clip.events]
    agents = [int(other.agent == event.agent) for other in clip.events]
    both = [scene * agent for scene, agent in zip(scenes, agents, strict=True)]
    assert list(seen[min(seen)]) == [*scenes, *scenes, 1]
    assert [list(truth) for truth in seen.values()][1] == [*agents, *both, 1]
    assert seen[len(text.ids) - 1] == (0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1)


def test_answers_are_as_often_one_as_the_other(scripts: dict[str, ModuleType]) -> None:
    words = {k: word for word, k in scripts["words"].vocabulary().items()}
    counts = dict.fromkeys(["Yes", "No", *"ABCDEF"], 0)
    for index in range(150):
        rng = random.Random(index)
        exam = scripts["questions"].exam(
            training_clip(index), [training_clip(index + 1)], rng, (4, 4, 4, 0)
        )
        for text in (text for _, texts in exam for text in texts):
            counts[words[text.targets[-1]]] += 1
    assert 0.4 < counts["Yes"] / (counts["Yes"] + counts["No"]) < 0.6
    assert 0.4 < counts["A"] / (counts["A"] + counts["B"]) < 0.6
    assert min(counts.values()) > 3


@torch.inference_mode()
def test_quick_vision_is_the_models_own(
    scripts: dict[str, ModuleType], model: AutoModelForImageTextToText
) -> None:
    pixels = torch.randn(3 * 16, 3 * 2 * 16 * 16)
    grid = torch.tensor([[3, 4, 4]])
    own = model.model.get_video_features(pixels, grid).pooler_output[0]
    quick = scripts["model"].see(model, pixels)
    assert torch.allclose(quick.flatten(0, 1), own, atol=1e-4)


@torch.inference_mode()
def test_training_rows_are_the_processors_prompts_one_at_a_time(
    scripts: dict[str, ModuleType],
    processor: AutoProcessor,
    model: AutoModelForImageTextToText,
    asked: Callable[[ToyClip, str], dict[str, torch.Tensor]],
) -> None:
    words, text = scripts["words"], scripts["statements"].Text
    clip = training_clip(10_000_000)
    captions = [event_caption(event) for event in clip.events]
    tail = words.SHORT_TAIL + scripts["questions"].REPLY + "assistant"
    exam = [(words.SHORT_HEAD, [text().add(c + tail).answer("Yes") for c in captions])]
    videos = scripts["train"].Videos(1, processor, None)
    videos.frames[0], videos.drawn[0] = videos._draw(clip), True
    _, pixels = videos.batch(0, 1)
    rows = scripts["rows"].lay_out([exam])
    seen = scripts["model"].see(model, pixels).view(1, 40, -1)[rows.clips]
    states = scripts["model"].read(model, seen, rows.ids, rows.positions, rows.allowed)[-1]
    together = model.lm_head(states[rows.targets != scripts["statements"].NONE])
    for caption, logits in zip(captions, together, strict=True):
        prompt = f"{words.SHORT_HEAD} {caption} {words.SHORT_TAIL}"
        inputs = asked(clip, prompt)
        assert torch.allclose(inputs["pixel_values_videos"], pixels, atol=1e-5)
        assert torch.allclose(model(**inputs).logits[0, -1], logits, atol=1e-3)


def test_two_steps_end_to_end_are_reproducible(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = []
    for name in ("one", "two"):
        out = tmp_path / name
        # The second run finds the first one's frames.
        options = f"--seeing-steps 1 --reading-steps 1 --frames {tmp_path / 'frames.npy'}".split()
        monkeypatch.setattr(sys, "argv", ["train_toy_vlm.py", "--out", str(out), *options])
        scripts["train"].main()
        weights.append((out / "model.safetensors").read_bytes())
        AutoProcessor.from_pretrained(out)
    assert weights[0] == weights[1]


def test_losses_reach_every_weight(
    scripts: dict[str, ModuleType], processor: AutoProcessor
) -> None:
    train, design = scripts["train"], scripts["train"].Design()
    model = train.untrained(design)
    facts = scripts["model"].FactHeads(design.hidden)
    reading = scripts["model"].ReadingHeads(design.hidden, 10)
    clips, pixels = train.Videos(4, processor, None).batch(0, 4)
    seen = scripts["model"].see(model, pixels)
    rng = random.Random(0)
    rows = scripts["rows"].lay_out(
        [scripts["questions"].exam(c, clips, rng, (4, 2, 2, 2)) for c in clips]
    )
    losses = facts(seen, clips) | train.reading_losses(model, reading, seen, rows)
    torch.stack(list(losses.values())).sum().backward()
    idle = [
        name
        for module in (model, facts, reading)
        for name, weight in module.named_parameters()
        if weight.grad is None or not weight.grad.any()
    ]
    assert not idle
