"""Captions scored after one shared prefix: packed, one by one after a cache, and apart.

    python scripts/bench_prefix.py [--rounds 3]

A Llama of random weights (hidden 512, 8 layers, 8 heads, vocabulary 32,000, sdpa) scores 20
captions of 30 tokens after a prefix of 1,000, in fp32 with one thread. Ways take turns within a
round; figures are medians of the process's CPU time. `fewer_tokens` is how many times more tokens
go through the model apart than when each goes once. Memory is the high-water mark of a process that
scores 20 or 200 captions, packed, and nothing else; `in_one_row` lets the row grow with them.

Expected: packed at least 6 times as fast as apart; equal log-probabilities (1e-4); memory for 200
captions at most a tenth above that for 20. The last line is one JSON object; exit code 1 if not as
expected.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from vbench.models.vlm.architecture import Strategy
from vbench.models.vlm.prefix import Scored, score

PREFIX, CAPTIONS, LENGTH, VOCABULARY = 1000, 20, 30, 32_000
CHUNK = 512
FASTER, CLOSE, GROWTH = 6.0, 1e-4, 1.1
WAYS: tuple[Strategy, ...] = ("full", "loop", "packed")


def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=8,
        num_attention_heads=8,
        attn_implementation="sdpa",
    )
    return LlamaForCausalLM(config).eval().requires_grad_(False)


def question(captions: int) -> Scored:
    made = torch.Generator().manual_seed(1)
    tokens = torch.randint(3, VOCABULARY, (PREFIX + captions * LENGTH,), generator=made).tolist()
    rest = [tuple(tokens[at : at + LENGTH]) for at in range(PREFIX, len(tokens), LENGTH)]
    return Scored(tuple(tokens[:PREFIX]), tuple(rest))


def measure(rounds: int) -> dict[str, object]:
    llama, asked = model(), [question(CAPTIONS)]
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    answers: dict[str, list[float]] = {}
    score(llama, [question(2)], {}, strategy="packed")  # the first pass is slower
    for _ in range(rounds):
        for way in WAYS:
            start = time.process_time()
            found = score(llama, asked, {}, tokens_per_chunk=CHUNK, strategy=way)
            times[way].append(time.process_time() - start)
            answers[way] = [one.log_prob for one in found[0]]
    medians = {way: statistics.median(values) for way, values in times.items()}
    off = {
        way: max(abs(a - b) for a, b in zip(answers[way], answers["full"], strict=True))
        for way in WAYS[1:]
    }
    read = LENGTH - 1  # a caption's last token is predicted, not read
    return {
        "cpu_s": {way: round(value, 3) for way, value in medians.items()},
        "times_as_fast": {way: round(medians["full"] / medians[way], 2) for way in WAYS[1:]},
        "fewer_tokens": round(CAPTIONS * (PREFIX + read) / (PREFIX + CAPTIONS * read), 1),
        "max_log_prob_difference": off,
    }


def high_water_mb(captions: int, chunk: int) -> float:
    """Returns the peak memory of a process that scores this many captions."""
    command = [sys.executable, __file__, "--captions", str(captions), "--chunk", str(chunk)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1])


def peak_of_this_process(captions: int, chunk: int) -> float:
    score(model(), [question(captions)], {}, tokens_per_chunk=chunk, strategy="packed")
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description="one prefix, many captions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--captions", type=int, help="only print the peak memory for these")
    parser.add_argument("--chunk", type=int, default=CHUNK)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.captions:
        print(peak_of_this_process(given.captions, given.chunk))
        return 0
    result = measure(given.rounds)
    peaks = {str(count): round(high_water_mb(count, given.chunk)) for count in (20, 200)}
    peaks["200_in_one_row"] = round(high_water_mb(200, sys.maxsize))
    fast = result["times_as_fast"]["packed"]  # type: ignore[index]
    worst = max(result["max_log_prob_difference"].values())  # type: ignore[attr-defined]
    within = fast >= FASTER and worst <= CLOSE and peaks["200"] <= GROWTH * peaks["20"]
    print(json.dumps({
        "bench": "prefix", "rounds": given.rounds, "prefix_tokens": PREFIX, "captions": CAPTIONS,
        "caption_tokens": LENGTH, "tokens_per_chunk": given.chunk, **result,
        "peak_memory_mb": peaks, "ok": within,
    }))  # fmt: skip
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
