"""Tiny checkpoints on disk, in the layout of the real ones: random weights, real file formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

WORDS = [
    "a red circle jumps slowly over the beach and then the blue square pushes it",
    "first in a dark bar the man in the suit walks away then he is lying in the snow",
    "one two three four five six seven eight nine ten eleven twelve",
]

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
