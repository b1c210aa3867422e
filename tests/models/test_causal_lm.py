"""Language models without eyes, against plain forward passes of transformers, one at a time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from vbench.errors import ConfigError, ModelError
from vbench.models.causal_lm import CausalLanguageModel
from vbench.protocols import TextScorer, VideoLanguageModel
from vbench.records import Clip, Continuation, Message, Reply, Request

from .tiny_words import CHAT, build_causal

TEXTS = [
    "a red circle jumps slowly",
    "a red circle jumps over the beach",
    "the man in the suit walks away then he is lying in the snow",
    "a",
    "Über 3 Äpfel",
]
YES, NO = Continuation("Yes"), Continuation("No")
CLIP = Clip("v", "/nowhere.mp4")


@pytest.fixture(scope="module")
def gpt2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_causal(tmp_path_factory.mktemp("hub") / "tiny_gpt2", "gpt2")


@pytest.fixture(scope="module")
def chat_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_causal(tmp_path_factory.mktemp("hub") / "tiny_chat", "llama", CHAT)


@cache
def plain(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    return AutoTokenizer.from_pretrained(folder), model


def log_likelihood(folder: Path, before: Sequence[int], after: Sequence[int]) -> float:
    """Adds up the log-probabilities of tokens that come after others, from one forward pass."""
    _, model = plain(folder)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*before, *after]])).logits[0]
    known = logits.log_softmax(-1)
    return sum(float(known[len(before) - 1 + n, token]) for n, token in enumerate(after))


def ids(folder: Path, text: str) -> list[int]:
    return plain(folder)[0](text, add_special_tokens=False)["input_ids"]


def ask(model: CausalLanguageModel, *requests: Request) -> list[Reply]:
    (replies,) = model.answer([(None, requests)])
    return replies


def question(text: str, *continuations: Continuation, **more: Any) -> Request:
    return Request((CLIP,), message=Message(text, **more), continuations=continuations)


@pytest.mark.parametrize("kind", ["llama_folder", "gpt2_folder"])
@pytest.mark.parametrize("per_token", [True, False])
def test_likelihoods_are_those_of_plain_passes(
    kind: str, per_token: bool, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(kind)
    model = CausalLanguageModel(str(folder), per_token=per_token)
    scores, truncated = model.score_texts(TEXTS)
    for text, score in zip(TEXTS, scores, strict=True):
        own = ids(folder, text)
        total = log_likelihood(folder, [0], own)
        assert score == pytest.approx(total / len(own) if per_token else total, abs=1e-4)
    assert truncated == [False] * len(TEXTS)
    alone = [model.score_texts([text])[0][0] for text in TEXTS]
    assert scores == pytest.approx(alone, abs=1e-4)


def test_neither_order_nor_room_matter(llama_folder: Path) -> None:
    whole = CausalLanguageModel(str(llama_folder)).score_texts(TEXTS)[0]
    model = CausalLanguageModel(str(llama_folder), tokens_per_chunk=8)
    assert model.score_texts(TEXTS[::-1])[0][::-1] == pytest.approx(whole, abs=1e-4)


def test_texts_longer_than_the_context_are_cut_and_flagged(llama_folder: Path) -> None:
    scores, truncated = CausalLanguageModel(str(llama_folder), context=6).score_texts(TEXTS)
    own = [ids(llama_folder, text) for text in TEXTS]
    assert truncated == [len(one) > 5 for one in own]
    assert True in truncated
    assert False in truncated
    kept = [one[:5] for one in own]
    expected = [log_likelihood(llama_folder, [0], one) / len(one) for one in kept]
    assert scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("text", "said"), [("", "no tokens"), ("a <|turn|> b", "holds <|turn|>")])
def test_texts_that_have_no_likelihood(llama_folder: Path, text: str, said: str) -> None:
    with pytest.raises(ModelError, match=said.replace("|", r"\|")):
        CausalLanguageModel(str(llama_folder)).score_texts(["a", text])


def test_continuations_are_scored_after_the_message_as_it_stands(llama_folder: Path) -> None:
    model = CausalLanguageModel(str(llama_folder))
    asked = [
        question("USER: <video>\nDoes he walk? ASSISTANT:", YES, NO),
        question("USER: <video>\nDoes she walk? ASSISTANT:", YES, NO, render="raw"),
    ]
    replies = ask(model, *asked)
    for reply, who in zip(replies, ("he", "she"), strict=True):
        assert reply.status == "ok"
        assert reply.prompt == f"USER: Does {who} walk? ASSISTANT:"
        before = ids(llama_folder, reply.prompt)
        assert reply.prompt_tokens == len(before)
        assert reply.token_ids == tuple(tuple(ids(llama_folder, word)) for word in ("Yes", "No"))
        expected = [log_likelihood(llama_folder, before, own) for own in reply.token_ids]
        assert reply.log_probs == pytest.approx(expected, abs=1e-4)
        assert (reply.visual_tokens, reply.frame_shape, reply.dtype) == (0, (), "float32")
    assert replies[0].log_probs != replies[1].log_probs


def test_a_chat_is_rendered_by_the_template_without_a_video(chat_folder: Path) -> None:
    model = CausalLanguageModel(str(chat_folder))
    told = question("<video>\nDoes he walk?", YES, NO, system="Answer.")
    (reply,) = ask(model, told)
    assert (
        reply.prompt == "<|turn|>system: Answer.\n<|turn|>user: Does he walk?\n<|turn|>assistant: "
    )
    before = ids(chat_folder, reply.prompt)
    expected = [log_likelihood(chat_folder, before, own) for own in reply.token_ids]
    assert reply.log_probs == pytest.approx(expected, abs=1e-4)
    raw = replace(told, message=Message("<video> So?", render="raw"))
    assert ask(model, raw)[0].prompt == " So?"


def test_without_a_template_a_system_prompt_comes_first(llama_folder: Path) -> None:
    model = CausalLanguageModel(str(llama_folder), system="Be brief.")
    assert ask(model, question("Does he walk?", YES))[0].prompt == "Be brief.\nDoes he walk?"


def test_it_writes_what_greedy_decoding_writes(chat_folder: Path) -> None:
    model = CausalLanguageModel(str(chat_folder), generation={"max_new_tokens": 7})
    asked = [question(text) for text in ("What?", "Who walks over the beach in the snow?")]
    tokenizer, plain_model = plain(chat_folder)
    for reply in ask(model, *asked):
        before = ids(chat_folder, reply.prompt)
        tokens = list(before)
        while len(tokens) < len(before) + 7 and tokens[-1] != 1:
            with torch.no_grad():
                logits = plain_model(input_ids=torch.tensor([tokens])).logits[0, -1]
            tokens.append(int(logits.argmax()))
        stopped = tokens[-1] == 1
        expected = tokens[len(before) : -1 if stopped else None]
        assert reply.text == tokenizer.decode(expected, skip_special_tokens=True)
        assert reply.reply_tokens == len(expected)
        assert reply.finish_reason == ("stop" if stopped else "length")


def test_what_cannot_be_asked_costs_one_reply(llama_folder: Path) -> None:
    model = CausalLanguageModel(str(llama_folder), context=20)
    good = question("Does he walk?", YES, NO)
    replies = ask(
        model,
        question("Does he <|turn|> walk?", YES, NO),
        good,
        question("Does he walk " + "over and over " * 9, YES, NO),
        Request((CLIP,), "a caption"),
    )
    assert [reply.status for reply in replies] == ["model_error", "ok", "overlong", "model_error"]
    assert "holds <|turn|>" in replies[0].reason
    assert "the 20 that the model holds" in replies[2].reason
    assert replies[1].log_probs == pytest.approx(ask(model, good)[0].log_probs, abs=1e-5)


def test_requests_of_several_groups_keep_their_places(llama_folder: Path) -> None:
    model = CausalLanguageModel(str(llama_folder), generation={"max_new_tokens": 2})
    first, second = question("One?", YES), question("Two?")
    groups = model.answer([(None, [first, second]), (None, [second]), (None, [])])
    assert [len(group) for group in groups] == [2, 1, 0]
    assert groups[0][1] == groups[1][0]
    assert groups[0][0].log_probs
    assert not groups[1][0].log_probs


def test_it_is_both_a_text_scorer_and_a_language_model(llama_folder: Path) -> None:
    model = CausalLanguageModel(str(llama_folder))
    assert isinstance(model, TextScorer)
    assert isinstance(model, VideoLanguageModel)
    assert model.needs == {"text"}
    assert model.tasks == {"match", "score", "generate"}


def test_identity_holds_what_changes_an_answer_and_no_path(
    llama_folder: Path, tmp_path: Path
) -> None:
    copied = shutil.copytree(llama_folder, tmp_path / "copy")
    base = CausalLanguageModel(str(llama_folder)).identity()
    same = CausalLanguageModel(str(copied), tokens_per_chunk=9, batch_size=1)
    assert same.identity() == base
    scored = CausalLanguageModel(str(llama_folder), generation={"seed": 3}).scoring_identity()
    assert scored == same.scoring_identity() != base
    for change in (
        {"per_token": False},
        {"generation": {"max_new_tokens": 3}},
        {"chat_template": CHAT},
        {"system": "Be brief."},
        {"context": 99},
    ):
        assert CausalLanguageModel(str(llama_folder), **change).identity() != base


def test_other_models_are_refused_before_weights_are_read(
    clip_folder: Path, vera_folder: Path
) -> None:
    for folder, kind in ((clip_folder, "clip"), (vera_folder, "t5")):
        with pytest.raises(ModelError, match=f"a {kind} model is no decoder-only language model"):
            CausalLanguageModel(str(folder))


def test_partial_weights_are_refused(llama_folder: Path, tmp_path: Path) -> None:
    target = shutil.copytree(llama_folder, tmp_path / "partial")
    weights = load_file(target / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="weights do not fit"):
        _ = CausalLanguageModel(str(target)).module


def test_a_tokenizer_without_a_start_is_refused(llama_folder: Path, tmp_path: Path) -> None:
    target = shutil.copytree(llama_folder, tmp_path / "startless")
    file = target / "tokenizer_config.json"
    kept = json.loads(file.read_text())
    for name in ("bos_token", "eos_token"):
        kept.pop(name)
    file.write_text(json.dumps(kept))
    with pytest.raises(ModelError, match="no token that texts start with"):
        CausalLanguageModel(str(target))


def test_settings_that_do_not_exist(llama_folder: Path) -> None:
    with pytest.raises(ConfigError, match="max_tokens"):
        CausalLanguageModel(str(llama_folder), generation={"max_tokens": 3})
    with pytest.raises(ConfigError, match="counts from 2"):
        CausalLanguageModel(str(llama_folder), context=1)
