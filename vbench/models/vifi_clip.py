"""ViFi-CLIP: OpenAI's CLIP B/16 tuned as a whole on videos, a clip being the mean of its frames.

Source: muzairkhattak/ViFi-CLIP (arXiv 2212.03640). Names of weights: trainers/vificlip.py and
clip/model.py; what a training checkpoint holds: utils/tools.py; frames: datasets/build.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import torch

from vbench.checkpoints import file_sha256
from vbench.errors import ModelError
from vbench.models.dual_encoder import DualEncoder
from vbench.models.embedding import Pooling
from vbench.models.loading import check_keys, explained, freeze, load_dual_encoder
from vbench.models.weight_file import State, clip_image_size, find_weight_file, read_state
from vbench.preprocess import ImageTransform

_TOKENS = "text_model.embeddings.token_embedding.weight"
"""Not in the file: training embedded the class names once and kept the result."""

_PROMPTS = "prompt_learner.complete_text_embeddings"
"""That result (classes, tokens, width), of no use for other texts."""

_NAMES = (
    ("visual_projection.weight", "image_encoder.proj"),
    ("text_projection.weight", "text_encoder.text_projection"),
    ("vision_model.", "image_encoder."),
    ("text_model.", "text_encoder."),
    ("embeddings.class_embedding", "class_embedding"),
    ("embeddings.patch_embedding", "conv1"),
    ("embeddings.position_embedding.weight", "positional_embedding"),
    ("pre_layrnorm", "ln_pre"),
    ("post_layernorm", "ln_post"),
    ("final_layer_norm", "ln_final"),
    ("encoder.layers.", "transformer.resblocks."),
    ("layer_norm", "ln_"),
    ("mlp.fc1", "mlp.c_fc"),
    ("mlp.fc2", "mlp.c_proj"),
    ("self_attn.out_proj", "attn.out_proj"),
    ("self_attn.q_proj.", "attn.in_proj_"),
    ("self_attn.k_proj.", "attn.in_proj_"),
    ("self_attn.v_proj.", "attn.in_proj_"),
)
"""transformers' words and those of the file, replaced one after another."""

_IMAGENET_MEAN = (0.485, 0.456, 0.406)
_IMAGENET_STD = (0.229, 0.224, 0.225)


class ViFiClip(DualEncoder):
    """ViFi-CLIP from the file that its repository publishes.

    Frames go through its own evaluation pipeline: short side to 8/7 of the model's size by OpenCV's
    bilinear rule (no antialiasing), centre crop, ImageNet's mean and deviation.

    Args:
        checkpoint: The `.pth` file on this machine.
        base: The CLIP that it was tuned from: its config, tokenizer and token embedding are used,
            which the file lacks. A folder or hub id, as transformers writes it.
        revision: Branch, tag or commit of `base` on the hub.
        pooling: How the frames of a clip become one embedding.
        max_text_tokens: Longest text in tokens; None: all the model can read.
        text_batch: Texts encoded at once; changes speed and memory only.

    Raises:
        ConfigError: `max_text_tokens` is more than the model can read.
        ModelError: There is no such file, or `base` cannot be found or is no CLIP.
    """

    def __init__(
        self,
        checkpoint: str,
        base: str = "openai/clip-vit-base-patch16",
        revision: str | None = None,
        pooling: Pooling = "mean_then_normalise",
        max_text_tokens: int | None = None,
        text_batch: int = 256,
    ) -> None:
        self._file = find_weight_file(checkpoint)
        super().__init__(base, revision, pooling, "auto", max_text_tokens, text_batch)
        side = clip_image_size(self._config, base)
        self.preprocess = ImageTransform(
            fit="shortest_edge",
            size=(side * 256 // 224,) * 2,
            crop=(side, side),
            interpolation="bilinear",
            antialias=False,
            mean=_IMAGENET_MEAN,
            std=_IMAGENET_STD,
        )

    @cached_property
    def module(self) -> torch.nn.Module:
        """All the weights, in float32 on the CPU until Lightning moves them.

        Raises:
            ModelError: They cannot be read, do not fill the architecture exactly, or were not tuned
                from `base`.
        """
        model = load_dual_encoder(self._checkpoint)
        own, state = model.state_dict(), read_state(self._file)
        if _PROMPTS in state:
            self._check_base(own[_TOKENS], state.pop(_PROMPTS))
        model.load_state_dict(translate(state, own, str(self._file)) | {_TOKENS: own[_TOKENS]})
        return freeze(model)

    @cached_property
    def _content(self) -> str:
        return f"vifi_clip sha256:{file_sha256(self._file)} on {self._checkpoint.identity()}"

    def _check_base(self, tokens: torch.Tensor, prompts: torch.Tensor) -> None:
        """Refuses a base whose token embedding is not the one that the prompts were made with."""
        if prompts.ndim == 3 and prompts.shape[-1] == tokens.shape[-1]:
            prompt = prompts[0].float()
            nearest = torch.cdist(prompt, tokens).amin(dim=1)
            if (nearest <= 0.01 * prompt.norm(dim=1)).all():  # training may have kept fp16
                return
        raise ModelError(
            "the base is not the CLIP that the weights were tuned from",
            where=f"model.base={self._checkpoint.name}",
            why=f"{_PROMPTS} of {self._file.name} holds embeddings that are none of its tokens'",
            mend="leave model.base out: it is openai/clip-vit-base-patch16",
        )


def theirs(key: str) -> str:
    """Returns what the file calls a weight of transformers' CLIP, or the tensor that holds it.

    >>> theirs("vision_model.encoder.layers.0.self_attn.k_proj.bias")
    'image_encoder.transformer.resblocks.0.attn.in_proj_bias'
    """
    for word, other in _NAMES:
        key = key.replace(word, other)
    return key


def translate(state: Mapping[str, torch.Tensor], own: State, name: str) -> State:
    """Renames a file's weights to those of transformers' CLIP, all but its token embedding.

    Queries, keys and values lie in one tensor there, and projections are transposed.

    Args:
        state: By the file's names.
        own: The weights of the architecture.
        name: The checkpoint, for messages.

    Raises:
        ModelError: A weight is missing, left over or of another shape.
    """
    wanted = {key: theirs(key) for key in own if key != _TOKENS}
    missing = set(wanted.values()) - state.keys()
    unexpected = state.keys() - set(wanted.values())
    with explained(name, "weight file"):
        found = {key: _part(key, state[of]) for key, of in wanted.items() if of in state}
    check_keys(
        name,
        total=len(set(wanted.values())),
        missing=missing,
        unexpected=unexpected,
        mismatched={wanted[key] for key in found if found[key].shape != own[key].shape},
    )
    return found


def _part(key: str, tensor: torch.Tensor) -> torch.Tensor:
    for row, name in enumerate(("q_proj", "k_proj", "v_proj")):
        if f".{name}." in key:
            return torch.tensor_split(tensor, 3)[row]
    return tensor.t() if key.endswith("_projection.weight") else tensor
