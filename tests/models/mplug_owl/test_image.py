"""The image model: told by its weights, a picture per frame, a turn per picture."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vbench.checkpoints import find_checkpoint
from vbench.models.mplug_owl.config import MplugOwlImageConfig
from vbench.models.mplug_owl.model import MplugOwlImageForConditionalGeneration
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weight_names import weight_names
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Message

from ..assembled_files import State, write_bins
from ..assembled_runs import PAIRS, log_probs, replies, write_rows
from ..plain_arithmetic import close
from .test_model import Owl, load

GATED = 40
"""The width between, as config.json says it: no two thirds are taken."""


@pytest.fixture(scope="module")
def image_state(state: State) -> State:
    """The video model's weights without those for time, feed-forward layers narrower."""
    kept = {name: value for name, value in state.items() if "temporal" not in name}
    for name, value in kept.items():
        if re.search(r"mlp\.(w1|w3|ffn_ln)\.", name):
            kept[name] = value[:GATED].clone()
        elif name.endswith("mlp.w2.weight"):
            kept[name] = value[:, :GATED].clone()
    return kept


@pytest.fixture(scope="module")
def owl_image(owl: Path, image_state: State, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as MAGAer13/mplug-owl-llama-7b is."""
    folder = tmp_path_factory.mktemp("checkpoints") / "owl_image"
    folder.mkdir()
    for file in ("tokenizer.model", "tokenizer_config.json", "preprocessor_config.json"):
        (folder / file).write_bytes((owl / file).read_bytes())
    said = json.loads((owl / "config.json").read_text())
    said["visual_abstractor_config"]["intermediate_size"] = GATED
    (folder / "config.json").write_text(json.dumps(said))
    write_bins(folder, image_state)
    return folder


@pytest.fixture(scope="module")
def clips(owl_image: Path) -> ClipInputs:
    return ClipInputs(find_checkpoint(str(owl_image)), {})


def test_every_frame_is_read_by_itself(owl_image: Path, image_state: State) -> None:
    model = load(owl_image)
    assert isinstance(model, MplugOwlImageForConditionalGeneration)
    pixels = torch.randn(2, 3, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    plain = Owl(image_state)
    with torch.no_grad():
        found = model.get_video_features(pixels)
    right = [torch.cat([plain.features(frame[None]) for frame in video]) for video in pixels]
    assert found.shape == (2, 3 * 5, 32)
    close(found, torch.stack(right), 1e-6)


def test_what_is_between_is_as_wide_as_config_json_says() -> None:
    """The video model takes two thirds of it, but for 2,816."""
    said = {"intermediate_size": 4096, "model_type": "mplug_owl_visual_abstract"}
    text = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 1}
    config = MplugOwlImageConfig(visual_abstractor_config=said, text_config=text)
    with torch.device("meta"):
        weights = MplugOwlImageForConditionalGeneration(config).state_dict()
    layer = "abstractor.encoder.layers.5.crossattention.output.mlp"
    assert tuple(weights[f"{layer}.w1.weight"].shape) == (4096, 1024)
    assert tuple(weights["vision_model.embeddings.position_embedding"].shape) == (1, 257, 1024)
    assert "vision_model.encoder.layers.23.mlp.fc1.weight" in weights
    assert not [name for name in weights if "temporal" in name]


@pytest.mark.parametrize("form", ["index", "pytorch_model.bin", "model.safetensors"])
def test_names_are_read_from_whatever_file_there_is(
    tmp_path: Path, image_state: State, form: str
) -> None:
    from safetensors.torch import save_file

    if form == "index":
        write_bins(tmp_path, image_state)
        for file in tmp_path.glob("*.bin"):
            file.write_bytes(b"not read")
    elif form.endswith(".bin"):
        torch.save(image_state, tmp_path / form)
    else:
        save_file(image_state, tmp_path / form)
    checkpoint = find_checkpoint(str(tmp_path))
    assert weight_names(checkpoint) == image_state.keys()
    for file in tmp_path.iterdir():
        file.unlink()
    assert not weight_names(checkpoint)


def test_each_frame_is_a_turn(owl_image: Path, clips: ClipInputs) -> None:
    import sentencepiece

    checkpoint = find_checkpoint(str(owl_image))
    renderer = Renderer("owl", clips.processor, None, None)
    chat = renderer.render(Message("What jumps?", render="chat"), shows_video=True, scored=False)
    assert chat.text.endswith("questions.\nHuman: <image>\nHuman: What jumps?\nAI: ")
    frame = np.zeros((48, 96, 3), np.uint8)
    frame[:, :12] = (255, 0, 0)
    view = clips.view([frame] * 2, ClipTiming((0, 1), (0.0, 1.0), 1.0, 2))
    assert view["expansion"] == "<image>" * 5 + "\nHuman: " + "<image>" * 5
    pixels = view["tensors"]["pixel_values_videos"]
    assert (view["frame_shape"], tuple(pixels.shape)) == ((2, 16, 16), (1, 2, 3, 16, 16))
    assert pixels[0, 0, 0, 8, 0] == pytest.approx((1 - 0.48145466) / 0.26862954, abs=0.02)
    reader = TokenReader("owl", clips.processor, read_config(checkpoint, remote_code=False))
    model = sentencepiece.SentencePieceProcessor(model_file=str(owl_image / "tokenizer.model"))
    picture = [model.get_piece_size()] * 5
    shown = chat.text.replace("<image>", view["expansion"])
    right = [1]
    for piece in re.split(r"((?:<image>){5}|AI: |\nHuman: )", shown):
        right += picture if piece.startswith("<image>") else model.encode(piece)
    assert right.count(picture[0]) == 10
    assert list(reader.prompt(chat, view["expansion"])) == right


@pytest.mark.slow
def test_a_table_is_scored_and_answered(
    owl_image: Path,
    tmp_path: Path,
    write_grey: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path, write_grey, {"a": 0, "b": 60})
    words: tuple[Any, ...] = ("model=mplug_owl_7b", "prompt=velociti_v1_owl", *PAIRS)
    shared = replies("shared", owl_image, *words)
    assert shared[0]["reply"]["visual_tokens"] == 4 * 5
    assert shared[0]["reply"]["frame_shape"] == [4, 16, 16]
    apart = replies("apart", owl_image, "model.prefix.strategy=full", "fresh=true", *words)
    assert log_probs(apart) == pytest.approx(log_probs(shared), abs=1e-4)
    written = replies(
        "written", owl_image, "model=mplug_owl_7b", "scorer=letters", "generation=short"
    )
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert len({row["reply"]["text"] for row in written}) > 1
