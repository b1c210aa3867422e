"""Tiny checkpoints on disk, in the layout of the real ones: random weights, real file formats."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

WORDS = [
    "a red circle jumps slowly over the beach and then the blue square pushes it",
    "first in a dark bar the man in the suit walks away then he is lying in the snow",
    "one two three four five six seven eight nine ten eleven twelve",
]

ARCH = "tiny-B-16"
"""An architecture of open_clip that only these tests know."""

State = dict[str, torch.Tensor]
Edit = Callable[[str, Callable[[dict], None]], Path]

OPENAI_PROCESSOR = {  # openai/clip-vit-base-patch32, old format, at 32 px
    "crop_size": 32,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "size": 32,
}
GOOGLE_PROCESSOR = {  # google/siglip-base-patch16-224, at 32 px
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_processor_type": "SiglipImageProcessor",
    "image_std": [0.5, 0.5, 0.5],
    "processor_class": "SiglipProcessor",
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "size": {"height": 32, "width": 32},
}


def clip_tokenizer(folder: Path) -> int:
    """Trains a byte-level BPE, writes it as openai's repository does, returns the vocabulary size.

    As in the real vocabulary, the two special tokens have the largest ids, the end the largest.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import CLIPTokenizer

    trained = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    trained.pre_tokenizer = pre_tokenizers.Whitespace()
    trained.train_from_iterator(
        WORDS, trainers.BpeTrainer(vocab_size=200, end_of_word_suffix="</w>", show_progress=False)
    )
    model = json.loads(trained.to_str())["model"]
    vocab = dict(model["vocab"])
    for special in ("<|startoftext|>", "<|endoftext|>"):
        vocab[special] = len(vocab)
    merges = [tuple(pair) for pair in model["merges"]]
    CLIPTokenizer(vocab=vocab, merges=merges, model_max_length=77).save_pretrained(folder)
    return len(vocab)


def build_clip(folder: Path, *, seed: int = 0, act: str = "quick_gelu") -> Path:
    """Writes a CLIP like openai/clip-vit-base-patch32, float16, position ids and all."""
    from safetensors.torch import load_file, save_file
    from transformers import CLIPConfig, CLIPModel

    folder.mkdir(parents=True)
    vocab_size = clip_tokenizer(folder)
    tower = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "hidden_act": act,
        "initializer_range": 0.3,
    }
    config = CLIPConfig(
        text_config={
            **tower,
            "vocab_size": vocab_size,
            "max_position_embeddings": 77,
            "bos_token_id": 0,
            "eos_token_id": 2,  # as in openai's own file: the largest id is read
        },
        vision_config={**tower, "image_size": 32, "patch_size": 16},
        projection_dim=24,
    )
    torch.manual_seed(seed)
    model = CLIPModel(config)
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    model.half().save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    weights["text_model.embeddings.position_ids"] = torch.arange(77)[None]
    weights["vision_model.embeddings.position_ids"] = torch.arange(5)[None]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "preprocessor_config.json").write_text(json.dumps(OPENAI_PROCESSOR))
    return folder


def build_siglip(folder: Path, vocab_size: int) -> Path:
    """Writes a SigLIP without its tokenizer."""
    from transformers import SiglipConfig, SiglipModel

    folder.mkdir(parents=True, exist_ok=True)
    tower = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    special = {"bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 1}
    config = SiglipConfig(
        text_config={**tower, **special, "vocab_size": vocab_size, "max_position_embeddings": 64},
        vision_config={**tower, "image_size": 32, "patch_size": 16},
    )
    torch.manual_seed(1)
    model = SiglipModel(config)
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CLIP as openai's repository holds it."""
    return build_clip(tmp_path_factory.mktemp("hub") / "tiny_clip")


@pytest.fixture(scope="session")
def siglip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SigLIP as google's repository holds it: sentencepiece, padded with its end token."""
    import sentencepiece
    from transformers import SiglipTokenizer

    folder = tmp_path_factory.mktemp("hub") / "tiny_siglip"
    folder.mkdir()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 5),
        model_prefix=str(folder / "spiece"),
        vocab_size=120,
        hard_vocab_limit=False,
        pad_id=-1,
        bos_id=-1,
        eos_id=1,
        unk_id=2,
        minloglevel=2,
    )
    tokenizer = SiglipTokenizer(str(folder / "spiece.model"))
    (folder / "spiece.vocab").unlink()
    tokenizer.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(GOOGLE_PROCESSOR))
    return build_siglip(folder, len(tokenizer))


@pytest.fixture(scope="session")
def siglip2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fixed-resolution SigLIP2: model_type siglip, Gemma tokenizer that keeps case."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("hub") / "tiny_siglip2"
    folder.mkdir()
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    trained = Tokenizer(models.BPE(unk_token=special[3]))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(
        [*WORDS, *(line.upper() for line in WORDS)],
        trainers.BpeTrainer(vocab_size=250, special_tokens=special, show_progress=False),
    )
    trained.post_processor = processors.TemplateProcessing(
        single="$A <eos>", special_tokens=[("<eos>", 1)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=trained,
        pad_token=special[0],
        eos_token=special[1],
        unk_token=special[3],
        padding_side="left",
        model_max_length=10**30,
    ).save_pretrained(folder)
    nested = {"image_processor": GOOGLE_PROCESSOR, "processor_class": "Siglip2Processor"}
    (folder / "processor_config.json").write_text(json.dumps(nested))
    return build_siglip(folder, trained.get_vocab_size())


@pytest.fixture
def edit(clip_folder: Path, tmp_path: Path) -> Edit:
    """Copies the CLIP and changes one of its JSON files."""

    def copy(file: str, change: Callable[[dict], None]) -> Path:
        folder = tmp_path / f"edited_{len(list(tmp_path.iterdir()))}"
        shutil.copytree(clip_folder, folder)
        content = json.loads((folder / file).read_text())
        change(content)
        (folder / file).write_text(json.dumps(content))
        return folder

    return copy


@pytest.fixture(scope="session")
def tiny_arch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A tiny ViT and its QuickGELU twin, registered as open_clip's own JSON configs are."""
    folder = tmp_path_factory.mktemp("configs")
    tower = {"layers": 2, "width": 64}
    config = {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "patch_size": 16, "head_width": 32, **tower},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "heads": 2, **tower},
    }
    (folder / f"{ARCH}.json").write_text(json.dumps(config))
    (folder / f"{ARCH}-quickgelu.json").write_text(json.dumps({**config, "quick_gelu": True}))
    open_clip = pytest.importorskip("open_clip", reason="the extra open_clip is not installed")
    before = dict(open_clip.factory._MODEL_CONFIGS), list(open_clip.factory._MODEL_CONFIG_PATHS)
    open_clip.add_model_config(folder)
    yield ARCH
    open_clip.factory._MODEL_CONFIGS.clear()
    open_clip.factory._MODEL_CONFIGS.update(before[0])
    open_clip.factory._MODEL_CONFIG_PATHS[:] = before[1]


@pytest.fixture(scope="session")
def hugging_face() -> torch.nn.Module:
    """A random CLIP of transformers with the same shape."""
    from transformers import CLIPConfig, CLIPModel

    tower = {
        "hidden_size": 64,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "hidden_act": "gelu",
    }
    torch.manual_seed(0)
    model = CLIPModel(
        CLIPConfig(
            text_config={**tower, "vocab_size": 49408, "max_position_embeddings": 77},
            vision_config={**tower, "image_size": 32, "patch_size": 16},
            projection_dim=24,
        )
    ).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def to_open_clip(state: State) -> State:
    """Renames transformers' CLIP weights to open_clip's names."""
    renamed = {
        "logit_scale": state["logit_scale"],
        "text_projection": state["text_projection.weight"].T,
        "visual.proj": state["visual_projection.weight"].T,
        "token_embedding.weight": state["text_model.embeddings.token_embedding.weight"],
        "positional_embedding": state["text_model.embeddings.position_embedding.weight"],
        "visual.class_embedding": state["vision_model.embeddings.class_embedding"],
        "visual.conv1.weight": state["vision_model.embeddings.patch_embedding.weight"],
        "visual.positional_embedding": state["vision_model.embeddings.position_embedding.weight"],
    }
    for ours, theirs in {
        "ln_final": "text_model.final_layer_norm",
        "visual.ln_pre": "vision_model.pre_layrnorm",
        "visual.ln_post": "vision_model.post_layernorm",
    }.items():
        for kind in ("weight", "bias"):
            renamed[f"{ours}.{kind}"] = state[f"{theirs}.{kind}"]
    names = {"ln_1": "layer_norm1", "ln_2": "layer_norm2", "mlp.c_fc": "mlp.fc1"}
    names |= {"mlp.c_proj": "mlp.fc2", "attn.out_proj": "self_attn.out_proj"}
    for ours, theirs in {"": "text_model", "visual.": "vision_model"}.items():
        for layer in range(2):
            to, source = f"{ours}transformer.resblocks.{layer}", f"{theirs}.encoder.layers.{layer}"
            for kind in ("weight", "bias"):
                for mine, other in names.items():
                    renamed[f"{to}.{mine}.{kind}"] = state[f"{source}.{other}.{kind}"]
                parts = [state[f"{source}.self_attn.{x}_proj.{kind}"] for x in "qkv"]
                renamed[f"{to}.attn.in_proj_{kind}"] = torch.cat(parts)
    return {name: tensor.clone().contiguous() for name, tensor in renamed.items()}


@pytest.fixture(scope="session")
def weights(hugging_face: torch.nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as open_clip's training writes it: epoch, optimizer and `module.` prefixes."""
    state = to_open_clip(hugging_face.state_dict())
    path = tmp_path_factory.mktemp("weights") / "negclip.pth"
    wrapped = {f"module.{name}": tensor for name, tensor in state.items()}
    torch.save({"epoch": 5, "name": "tiny", "state_dict": wrapped, "optimizer": {"lr": 1e-6}}, path)
    return path


@pytest.fixture(scope="session")
def vera_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 encoder with VERA's head in its spare rows."""
    from .tiny_words import build_vera

    return build_vera(tmp_path_factory.mktemp("hub") / "tiny_vera")


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder without a chat template."""
    from .tiny_words import build_causal

    return build_causal(tmp_path_factory.mktemp("hub") / "tiny_llama", "llama")


@pytest.fixture
def evaluating(
    tmp_path: Path, write_grey: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Writes a table of videos; what it returns evaluates a checkpoint on them by a run's name."""
    from .assembled_runs import replies, write_rows

    def prepare(videos: Mapping[str, int], checkpoint: Path, *always: str) -> Callable[..., Any]:
        write_rows(tmp_path, write_grey, videos)
        monkeypatch.chdir(tmp_path)
        return lambda name, *words: replies(name, checkpoint, *always, *words)

    return prepare
