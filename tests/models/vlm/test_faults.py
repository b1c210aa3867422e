"""What is wrong with a checkpoint is said before anything is computed, with the mend."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vbench.errors import ConfigError, ModelError
from vbench.models.vlm.adapter import HfVideoLanguageModel
from vbench.protocols import ClipTiming, View
from vbench.records import Clip, Continuation, Message, Reply, Request

CLIP = Clip("v", "v.mp4")
QUESTION = Request(
    (CLIP,), message=Message("Is it?"), continuations=(Continuation("Yes"), Continuation("No"))
)


@pytest.fixture
def folder(checkpoint: Callable[[str], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoint("qwen2_vl"), tmp_path / "q"))


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def answer(model: HfVideoLanguageModel) -> Reply:
    made = np.random.default_rng(0)
    frames = [made.integers(0, 255, (48, 64, 3), dtype=np.uint8) for _ in range(4)]
    assert model.preprocess is not None
    timing = ClipTiming((0, 1, 2, 3), (0.0, 1.0, 2.0, 3.0), 1.0, 4)
    view = View(CLIP, inputs=model.preprocess.view(frames, timing))
    return model.answer([(view, [QUESTION])])[0][0]


def test_an_architecture_that_is_no_language_model(folder: Path) -> None:
    edit(folder / "config.json", model_type="vit")
    with pytest.raises(ModelError, match="no video-language model for 'vit'") as caught:
        HfVideoLanguageModel(str(folder))
    assert "-hf" in caught.value.mend


def test_an_architecture_of_the_checkpoints_own_runs_no_code(folder: Path, tmp_path: Path) -> None:
    proof = tmp_path / "it_ran"
    (folder / "own.py").write_text(f"from pathlib import Path\nPath({str(proof)!r}).touch()\n")
    edit(folder / "config.json", model_type="my_vlm", auto_map={"AutoConfig": "own.Config"})
    with pytest.raises(ModelError, match="checkpoint's own code only") as caught:
        HfVideoLanguageModel(str(folder))
    assert "model.trust_remote_code=true" in caught.value.mend
    assert not proof.exists()


def test_an_architecture_that_nobody_knows(folder: Path) -> None:
    edit(folder / "config.json", model_type="my_vlm")
    with pytest.raises(ModelError, match="config cannot be loaded"):
        HfVideoLanguageModel(str(folder))


@pytest.mark.parametrize("lost", ["model.visual.merger.ln_q.weight", "lm_head.weight"])
def test_weights_that_fill_a_part_of_the_model(folder: Path, lost: str) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    (name,) = (key for key in weights if key.endswith(lost.removeprefix("model.")))
    del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    model = HfVideoLanguageModel(str(folder))
    with pytest.raises(ModelError, match="weights do not fit the model") as caught:
        _ = model.module
    assert "1 missing" in caught.value.why


def test_a_processor_that_needs_a_package(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.models.smolvlm import processing_smolvlm

    folder = checkpoint("smolvlm")
    monkeypatch.setattr(processing_smolvlm, "num2words", None)
    with pytest.raises(ModelError, match="needs a package that is not installed") as caught:
        HfVideoLanguageModel(str(folder))
    assert "pip install num2words" in caught.value.mend


def test_a_processor_without_videos(folder: Path) -> None:
    for name in ("processor_config.json", "chat_template.jinja"):
        (folder / name).unlink()
    with pytest.raises(ModelError) as caught:
        HfVideoLanguageModel(str(folder))
    assert caught.value.mend


def test_settings_that_do_not_exist(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no generation setting 'max_tokens'") as caught:
        HfVideoLanguageModel(str(folder), generation={"max_tokens": 3})
    assert "max_new_tokens" in caught.value.mend
    with pytest.raises(ConfigError, match="no prefix setting 'chunk'"):
        HfVideoLanguageModel(str(folder), prefix={"chunk": 3})
    with pytest.raises(ConfigError, match="make no sense"):
        HfVideoLanguageModel(str(folder), generation={"temperature": -1.0})
    with pytest.raises(ConfigError, match="neither a template nor a file"):
        HfVideoLanguageModel(str(folder), chat_template="nowhere.jinja")


def test_a_template_without_a_place_for_videos(folder: Path) -> None:
    blind = "{% for m in messages %}{{ m.content[-1].text }}{% endfor %}"
    reply = answer(HfVideoLanguageModel(str(folder), chat_template=blind))
    assert reply.status == "model_error"
    assert "holds 0 videos" in reply.reason


def test_sampling_settings_of_the_checkpoint_have_no_say(folder: Path) -> None:
    settings = {"do_sample": True, "temperature": 5.0, "top_k": 3, "repetition_penalty": 9.0}
    plain = HfVideoLanguageModel(str(folder), generation={"max_new_tokens": 6})
    told = Request((CLIP,), message=Message("Say"))
    expected = plain.answer([(None, [told])])[0][0].text
    edit(folder / "generation_config.json", **settings)
    hidden = HfVideoLanguageModel(str(folder), generation={"max_new_tokens": 6})
    assert hidden.answer([(None, [told])])[0][0].text == expected


def test_a_drawn_reply_depends_on_the_seed_and_not_on_the_batch(folder: Path) -> None:
    told = [Request((), message=Message(text)) for text in ("Say", "Is the answer Yes?", "A")]

    def drawn(seed: int, size: int) -> list[str | None]:
        settings = {"temperature": 1.0, "seed": seed, "max_new_tokens": 5}
        model = HfVideoLanguageModel(str(folder), generation=settings, batch_size=size)
        return [reply.text for reply in model.answer([(None, told)])[0]]

    assert drawn(1, 8) == drawn(1, 1)
    assert drawn(1, 8) != drawn(2, 8)


def test_weights_that_are_placed_are_none_of_lightnings_business(folder: Path) -> None:
    whole = HfVideoLanguageModel(str(folder))
    placed = HfVideoLanguageModel(str(folder), device_map="cpu")
    assert placed.module is None
    assert answer(placed).log_probs == pytest.approx(answer(whole).log_probs, abs=1e-5)
    quantised = HfVideoLanguageModel(str(folder), quantization={"load_in_4bit": True})
    assert quantised.module is None
    if importlib.util.find_spec("bitsandbytes") is None:
        with pytest.raises(ModelError, match="needs a package") as caught:
            answer(quantised)
        assert "pip install bitsandbytes" in caught.value.mend


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's making
def test_an_adapter(folder: Path, tmp_path: Path) -> None:
    """Its answers are those of the weights with the adapter added in."""
    import peft

    model = HfVideoLanguageModel(str(folder))
    before = answer(model).log_probs
    config = peft.LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"])
    added = peft.get_peft_model(model._weights.model, config)
    torch.manual_seed(0)
    for name, weight in added.named_parameters():
        if "lora_" in name:
            weight.data = torch.randn_like(weight)
    added.save_pretrained(tmp_path / "adapter")
    model._weights.model = added.merge_and_unload()
    expected = answer(model).log_probs
    tuned = HfVideoLanguageModel(str(folder), adapter=str(tmp_path / "adapter"))
    assert answer(tuned).log_probs == pytest.approx(expected, abs=1e-3)
    assert abs(expected[0] - before[0]) > 0.1
    assert tuned.identity() != HfVideoLanguageModel(str(folder)).identity()


OWN = """
from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

class OwnConfig(Qwen2VLConfig):
    model_type = "my_vlm"

class OwnModel(Qwen2VLForConditionalGeneration):
    config_class = OwnConfig
"""


def test_code_of_a_checkpoint_runs_when_asked_for(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import save_file
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    native = HfVideoLanguageModel(str(folder))
    expected = answer(native).log_probs
    weights = {name: part.clone() for name, part in native._weights.model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "own.py").write_text(OWN)
    places = {"AutoConfig": "own.OwnConfig", "AutoModelForImageTextToText": "own.OwnModel"}
    edit(folder / "config.json", model_type="my_vlm", auto_map=places)
    model = HfVideoLanguageModel(str(folder), trust_remote_code=True)
    assert answer(model).log_probs == pytest.approx(expected, abs=1e-5)
    assert type(model._weights.model).__name__ == "OwnModel"
