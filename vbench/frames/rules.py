"""The sampling rules, each a pure function under its exact name.

Rules over counts take n, the frames there are, and k, the frames wanted, and return positions in
0..n-1 as their source computes them, in order, repeats included where the source repeats. Rules
over time look at presentation times and return each position once.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from vbench.frames.timeline import EPSILON_S

VELOCITI_OFFSETS = (0.25, 0.75)
"""Where within each second VELOCITI v1 takes its two frames (utils/extract_frames.py)."""


def left_edge(n: int, k: int) -> list[int]:
    """Left edge of k equal segments: int of arange(0, n, n/k).

    Source: Video-LLaVA, as run by VELOCITI v1 (video_llava/data_utils.py); Video-LLaMA.

    >>> left_edge(240, 8)
    [0, 30, 60, 90, 120, 150, 180, 210]
    """
    return [int(i * (n / k)) for i in range(k)]


def whole_steps(n: int, k: int) -> list[int]:
    """From the first frame on in steps of floor(n/k): the first alone where k is larger.

    Source: Otter (pipeline/benchmarks/models/otter_video.py).

    >>> whole_steps(255, 8)
    [0, 31, 62, 93, 124, 155, 186, 217]
    """
    return [i * (n // k) for i in range(k)]


def uniform_endpoints(n: int, k: int) -> list[int]:
    """First and last frame and equal steps between: int of linspace(0, n-1, k).

    Source: lmms-eval (models/model_utils/load_video.py), CLIP-ViP (datasets/dataloader.py), Valley.

    >>> uniform_endpoints(240, 8)
    [0, 34, 68, 102, 136, 170, 204, 239]
    """
    if k == 1:
        return [0]
    return [int(i * ((n - 1) / (k - 1))) for i in range(k - 1)] + [n - 1]


def uniform_midpoints(n: int, k: int) -> list[int]:
    """Centre of k equal segments: floor((i + 1/2) n/k).

    Source: Temporal Segment Networks (Wang et al., 2016) as tested by MMAction2 (SampleFrames,
    test_mode); ViFi-CLIP.

    >>> uniform_midpoints(240, 8)
    [15, 45, 75, 105, 135, 165, 195, 225]
    """
    return [(2 * i + 1) * n // (2 * k) for i in range(k)]


def uniform_interior(n: int, k: int) -> list[int]:
    """The k points that cut n frames in k + 1 parts: int(i n/(k+1)), i = 1..k.

    Source: VLMEvalKit (dataset/video_base.py).

    >>> uniform_interior(240, 8)
    [26, 53, 80, 106, 133, 160, 186, 213]
    """
    step = n / (k + 1)
    return [int(i * step) for i in range(1, k + 1)]


def segment_offset(n: int, k: int) -> list[int]:
    """Segments of (n-1)/k frames, half a segment in: int(seg/2) + round(seg i), half to even.

    Source: VideoChat's get_index, used by PLLaVA and, in VELOCITI v1, by mPLUG-Owl-Video.

    >>> segment_offset(240, 8)
    [14, 44, 74, 104, 134, 163, 193, 223]
    """
    segment = (n - 1) / k
    return [int(segment / 2) + round(segment * i) for i in range(k)]


def segment_midpoints(n: int, k: int) -> list[int]:
    """Segments of (n-1)/k frames with rounded ends, the middle of each: all n where k is larger.

    Where k is larger, segments are (n-1)/n frames, so that neighbours may coincide.

    Source: Video-ChatGPT (video_chatgpt/eval/model_utils.py, get_seq_frames).

    >>> segment_midpoints(240, 8)
    [15, 45, 75, 105, 134, 164, 194, 224]
    """
    count = min(n, k)
    ends = [round((n - 1) / count * i) for i in range(count + 1)]
    return [(start + end) // 2 for start, end in pairwise(ends)]


def seeded_random(n: int, k: int, seed: str) -> list[int]:
    """A draw of k different frames, in order of time; all n where k is larger.

    Source: the random-frame baseline of Buch et al. (2022), "Revisiting the 'Video' in
    Video-Language Understanding".

    >>> seeded_random(240, 8, "0")
    [16, 20, 25, 54, 65, 92, 223, 232]
    """
    return sorted(random.Random(seed).sample(range(n), min(n, k)))


def nested(n: int, k: int, largest: int) -> list[int]:
    """The k most important frames of uniform_midpoints(n, largest): smaller counts are subsets.

    Importance follows the van der Corput sequence, started at 1/3: k = 1, 2, 4, 8, … that divide
    `largest` are evenly spaced and never more than a sixth of a segment off centre, and every
    count holds all smaller ones, so that one pass over `largest` frames serves a whole sweep.
    k = largest is uniform_midpoints itself.

    Source: this project (van der Corput, 1935, for the sequence).

    >>> nested(240, 4, 32)
    [18, 78, 138, 198]
    >>> nested(240, 8, 32)
    [18, 48, 78, 108, 138, 168, 198, 228]
    """
    grid = uniform_midpoints(n, largest)
    slots: dict[int, None] = {}
    i = 0
    while len(slots) < k:
        bits = max(1, i.bit_length())
        reverse = int(f"{i:0{bits}b}"[::-1], 2)
        # floor(largest * frac(1/3 + reverse / 2^bits)), in integers
        slots[largest * ((2**bits + 3 * reverse) % (3 * 2**bits)) // (3 * 2**bits)] = None
        i += 1
    return sorted(grid[slot] for slot in slots)


def first(n: int) -> list[int]:
    """The first frame.

    Source: this project, as a control.

    >>> first(240)
    [0]
    """
    return [0]


def middle(n: int) -> list[int]:
    """The middle frame, the later of two.

    Source: uniform_midpoints with k = 1, the one frame of image baselines.

    >>> middle(240)
    [120]
    """
    return [n // 2]


def on_screen(timestamps_s: Sequence[float], moments_s: Sequence[float]) -> list[int]:
    """The frames shown at some moments: the last one not later, else the first; each once.

    >>> on_screen([0.0, 0.1, 0.9], [0.05, 0.5, 0.8, 2.0])
    [0, 1, 2]
    """
    found = (bisect_right(timestamps_s, moment + EPSILON_S) - 1 for moment in moments_s)
    return sorted({max(0, position) for position in found})


def fps_moments(start_s: float, end_s: float, fps: float, max_frames: int | None) -> list[float]:
    """One moment every 1/fps seconds from the start; past the cap, max_frames at equal steps.

    Where the rate would give more than `max_frames`, it falls to max_frames / duration: still from
    the start, still equally spaced, still over the whole span.

    Source: "frames at r fps, at most m" of Qwen2-VL, LLaVA-Video, VLMEvalKit, which differ in
    rounding; this one counts time, not frames, and so holds for variable rates too.

    >>> fps_moments(0.0, 2.0, 2.0, None)
    [0.0, 0.5, 1.0, 1.5]
    >>> fps_moments(0.0, 2.0, 2.0, 3)
    [0.0, 0.6666666666666666, 1.3333333333333333]
    """
    duration = end_s - start_s
    count = max(1, math.ceil(duration * fps - EPSILON_S))
    if max_frames is not None and count > max_frames:
        return [start_s + i * duration / max_frames for i in range(max_frames)]
    return [start_s + i / fps for i in range(count)]


def mid_second_moments(start_s: float, end_s: float) -> list[float]:
    """The middle of each second of the span: 10 for 10 s; a span below 1/2 s gets its own middle.

    Source: VELOCITI v2 (utils/clip_utils.py, get_frame_indices): int((s + 1/2) fps), which at a
    constant rate is the frame on screen at s + 1/2.

    >>> mid_second_moments(0.0, 3.0)
    [0.5, 1.5, 2.5]
    """
    count = math.ceil(end_s - start_s - 0.5 - EPSILON_S)
    return [start_s + s + 0.5 for s in range(count)] or [(start_s + end_s) / 2]


def clip_ends(n: int, source_fps: float, clips: int, seconds: float) -> list[tuple[int, int]]:
    """First and last frame of each of some clips of a few seconds, the first at 0, the last at n.

    Clips of a video that is shorter than all of them together overlap; those of one that is shorter
    than a single clip are the same.

    Source: ImageBind (data.py: ConstantClipsPerVideoSampler, get_clip and UniformTemporalSubsample
    of pytorchvideo with decord), used by PandaGPT. Where a clip begins on a frame, rounding may
    move the original to the next one.

    >>> clip_ends(240, 24.0, 5, 2.0)
    [(0, 47), (48, 95), (96, 143), (144, 191), (192, 239)]
    >>> clip_ends(72, 24.0, 3, 2.0)
    [(0, 47), (12, 59), (24, 71)]
    """
    length = seconds * source_fps
    step = max(n - length, 0.0) / max(clips - 1, 1)
    starts = [min(math.ceil(step * i - EPSILON_S), n - 1) for i in range(clips)]
    ends = [min(math.ceil(step * i + length - EPSILON_S), n) for i in range(clips)]
    return [(start, max(end - 1, start)) for start, end in zip(starts, ends, strict=True)]


def velociti20_moments(start_s: float, end_s: float) -> list[float]:
    """A quarter and three quarters into each second of the file that fall in the span.

    >>> velociti20_moments(6.0, 8.0)
    [6.25, 6.75, 7.25, 7.75]
    """
    seconds = range(math.floor(start_s), math.ceil(end_s))
    moments = [second + offset for second in seconds for offset in VELOCITI_OFFSETS]
    inside = [m for m in moments if start_s - EPSILON_S <= m < end_s - EPSILON_S]
    return inside or [(start_s + end_s) / 2]


def velociti20_indices(moments_s: Sequence[float], source_fps: float) -> list[int]:
    """Frame round(moment * round(fps)), counted from 1, as indices of the file counted from 0.

    Rounding is Python's, half to even.

    Source: VELOCITI v1 (utils/extract_frames.py), which numbers decoded frames from 1.

    >>> velociti20_indices([0.25, 0.75, 1.25, 1.75], 24.0)
    [5, 17, 29, 41]
    """
    return [round(moment * round(source_fps)) - 1 for moment in moments_s]
