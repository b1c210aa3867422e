"""Words, chat template and processor of the tiny video-language model (docs/toy_vlm.md)."""

from __future__ import annotations

import re
from functools import cache

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2VLImageProcessor,
    Qwen2VLProcessor,
    Qwen2VLVideoProcessor,
)

from vbench.datasets.toy.captions import ACTION_PHRASES, SCENE_PHRASES
from vbench.datasets.toy.world import CHARACTERS, MANNERS

IMAGE_SIZE = 64
PATCH_SIZE = 16
MERGE_SIZE = 2
MAX_TOKENS = 1024

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VISION_START, VISION_END = "<|vision_start|>", "<|vision_end|>"
IMAGE, VIDEO = "<|image_pad|>", "<|video_pad|>"
SPECIAL = (PAD, START, END, VISION_START, VISION_END, IMAGE, VIDEO)
UNKNOWN = "<unk>"

LETTERS = "ABCDEF"
COUNTS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}

SHORT_HEAD, SHORT_TAIL = "Does the video show this?", "Answer Yes or No."
LONG_HEAD = (
    "Carefully watch the video and pay attention to the sequence of events, the details and actions"
    " of persons.\nHere is a caption that describes the video:"
)
LONG_TAIL = (
    "Based on your observation, does the given video entail the caption?"
    " Just answer with either Yes or No."
)
PAIR_HEAD, PAIR_TAIL = "Which caption describes the video?", "Answer with A or B."
OPTIONS_TAIL = (
    "Among the {count} options {letters} above, the one closest to the correct answer is:"
)
DESCRIBE = "Describe the video."
QUESTIONS = {
    "agent": "Who is {action}?",
    "action": "What is {agent} doing?",
    "first": "What happens first?",
    "last": "What happens last?",
    "scene": "Where is this?",
}

# Words that other prompts may well use. None is trained on; each at least keeps its place.
OTHER = """
0 1 2 3 4 5 6 7 8 9 10 I Is It Please Question Options Option Answer Video Caption Context True
False true false yes no a an and are as at be best between both brief briefly by can choose
clip clips concise correctly did does each following for frame frames from given has have in
into it its letter match matches matching more most not number of on only option or order out
picture please question reply respond sentence shown shows single statement than these they to
two was were which who whether while will word words you happening happens one scene main
detail before after during A B C D E F
"""

CHAT_TEMPLATE = (
    "{%- set seen = namespace(images=0, videos=0) -%}"
    "{%- if messages and messages[0]['role'] != 'system' -%}"
    "{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}"
    "{%- endif -%}"
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{%- if message['content'] is string -%}{{ message['content'] }}"
    "{%- else -%}{%- for part in message['content'] -%}"
    "{%- if part['type'] in ('image', 'image_url') -%}"
    "{%- set seen.images = seen.images + 1 -%}"
    "{%- if add_vision_id -%}{{ 'Picture ' ~ seen.images ~ ': ' }}{%- endif -%}"
    "{{ '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{%- elif part['type'] == 'video' -%}"
    "{%- set seen.videos = seen.videos + 1 -%}"
    "{%- if add_vision_id -%}{{ 'Video ' ~ seen.videos ~ ': ' }}{%- endif -%}"
    "{{ '<|vision_start|><|video_pad|><|vision_end|>' }}"
    "{%- elif part['type'] == 'text' -%}{{ part['text'] }}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}{{ '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)
"""Renders what Qwen2-VL's own template renders for text, pictures and videos."""

_WORD = re.compile(r"<\|\w+\|>|\w+|[^\w\s]")


def words_of(text: str) -> list[str]:
    """Returns the words and marks that a text is read as.

    >>> words_of("A) In space, no one.<|im_end|>")
    ['A', ')', 'In', 'space', ',', 'no', 'one', '.', '<|im_end|>']
    """
    return _WORD.findall(text)


@cache
def vocabulary() -> dict[str, int]:
    """Returns the number of every word; special tokens come first."""
    slots = re.compile(r"\{\w+\}")
    phrases = [*SCENE_PHRASES.values(), *ACTION_PHRASES.values(), *CHARACTERS, *MANNERS]
    fillers = ["to the left to the right upwards downwards a ball a lamp the one who is also"]
    captions = ["First, Then, The person who", *phrases, *fillers, "In the On the in the on the"]
    prompts = [SHORT_HEAD, SHORT_TAIL, LONG_HEAD, LONG_TAIL, PAIR_HEAD, PAIR_TAIL, OPTIONS_TAIL]
    asked = [DESCRIBE, *QUESTIONS.values(), *COUNTS.values(), *LETTERS, "Yes No"]
    chat = [
        "system user assistant You are a helpful assistant. Picture Video",
        ". , : ; ? ! ( ) ' -",
    ]
    text = " ".join([*captions, *prompts, *asked, *chat, OTHER])
    words = sorted(set(words_of(slots.sub(" ", text))))
    return {word: k for k, word in enumerate([*SPECIAL, UNKNOWN, *words])}


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Returns a tokenizer of whole words, case kept: `A` is a letter, `a` an article."""
    tokenizer = Tokenizer(models.WordLevel(vocabulary(), unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("isolated")]
    )
    # Joins words by blanks and takes the blank before a mark away again.
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in SPECIAL])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=MAX_TOKENS,
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        padding_side="left",
    )


def build_processor() -> Qwen2VLProcessor:
    """Returns the processor that training and inference share."""
    vision = {
        "size": {"shortest_edge": IMAGE_SIZE**2, "longest_edge": IMAGE_SIZE**2},
        "patch_size": PATCH_SIZE,
        "merge_size": MERGE_SIZE,
        "temporal_patch_size": 2,
    }
    return Qwen2VLProcessor(
        image_processor=Qwen2VLImageProcessor(**vision),
        tokenizer=build_tokenizer(),
        video_processor=Qwen2VLVideoProcessor(**vision, cap_pixels_per_frame=False),
        chat_template=CHAT_TEMPLATE,
    )
