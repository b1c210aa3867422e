"""CPU seconds and memory to build VELOCITI's tests from annotations as many as VidSitu has.

    python scripts/bench_build.py [--records 29220]

29,220 annotation records are drawn here in VidSitu's own JSON: a video each, five events, agents
and scenes of two to eight words as people write them, most with a patient and a manner, some with
an instrument or a direction, a few without agent. `vbench build` then writes all ten tests by
templates, in a process of its own; what it takes from start to end is measured, reading included.

Expected: less than 120 CPU seconds and less than 2 GB at the peak. The last line is one JSON
object; exit code 1 if not as expected.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

LIMIT_S, LIMIT_MB = 120.0, 2000.0

PEOPLE = ("man", "woman", "boy", "girl", "soldier", "old man", "nurse", "driver", "child", "guard")
LOOKS = (
    "in a black suit", "in a red shirt", "with long hair", "in a hat", "in a white coat",
    "with a beard", "in glasses", "in a blue dress", "with a gun", "in a grey jacket", "",
)  # fmt: skip
VERBS = re.findall(
    r"\w+",
    "walk talk run look speak turn open stare grab sit stand smile shout hold point throw push "
    "pull drive fall jump kiss hug fight read write eat drink dance climb nod wave cry laugh shoot "
    "hide lift kick punch carry drop pour cut wash paint sing sleep chase follow lead hand",
)
THINGS = ("a glass", "the door", "a letter", "a rope", "the wheel", "a bag", "a knife", "the table")
MANNERS = (
    "slowly", "quickly", "angrily", "with a smile", "looking confused", "quietly", "nervously",
    "with both hands", "on one leg", "happily", "carefully", "without a word", "loudly",
)  # fmt: skip
SCENES = ("a bar", "on the front porch", "an office", "the woods", "a dark street", "a kitchen")


def person(rng: random.Random) -> str:
    return f"{rng.choice(PEOPLE)} {rng.choice(LOOKS)} {rng.randrange(30)}".strip()


def event(rng: random.Random, name: str, cast: list[str], scene: str) -> Mapping[str, object]:
    arguments = {"Arg0 (agent)": rng.choice(cast)} if rng.random() < 0.95 else {}
    if rng.random() < 0.7 or not arguments:
        arguments["Arg1 (thing acted on)"] = rng.choice([*cast, *THINGS])
    if rng.random() < 0.2:
        arguments["Arg2 (instrument)"] = rng.choice(THINGS)
    if rng.random() < 0.2:
        arguments["ArgM (direction)"] = rng.choice(("forward", "to the left", "away"))
    if rng.random() < 0.7:
        arguments["ArgM (manner)"] = rng.choice(MANNERS)
    arguments["Scene of the Event"] = scene
    verb = rng.choice(VERBS)
    return {
        "vid_uid": name, "vid_seg_int": name, "Verb": verb, "VerbID": f"{verb}.01",
        "Arg_List": {key: place for place, key in enumerate(arguments)}, "Args": arguments,
        "EvRel": "NoRel",
    }  # fmt: skip


def write_labels(root: Path, records: int) -> None:
    rng = random.Random(0)
    names = [f"v_{n // 3:011d}_seg_{30 * (n % 3)}_{30 * (n % 3) + 10}" for n in range(records)]
    annotations = []
    for name in names:
        cast, scene = [person(rng) for _ in range(rng.randint(1, 4))], rng.choice(SCENES)
        annotations.append({f"Ev{k}": event(rng, name, cast, scene) for k in range(1, 6)})
    for folder, file, content in (
        ("split_files", "vseg_split_train_lb.json", names),
        ("vinfo_files", "vinfo_train_lb.json", [{"vid_seg_int": name} for name in names]),
        ("vseg_ann_files", "vsann_train_lb.json", annotations),
    ):
        (root / folder).mkdir(parents=True)
        (root / folder / file).write_text(json.dumps(content))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=29_220)
    records = parser.parse_args().records
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_labels(folder / "labels", records)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [
                sys.executable, "-m", "vbench", "build", "dataset=velociti/from_vidsitu",
                f"dataset.vidsitu_root={folder / 'labels'}", "dataset.split=train",
                f"dataset.root={folder / 'set'}",
            ],
            check=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = json.loads((folder / "set" / "build_report.json").read_text())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    within = cpu < LIMIT_S and peak < LIMIT_MB and report["videos"] == records
    print(json.dumps({
        "bench": "build", "records": records, "cpu_s": round(cpu, 1), "peak_mb": round(peak),
        "limit_cpu_s": LIMIT_S, "limit_mb": LIMIT_MB,
        "samples": {test: of["tests"] for test, of in report["tests"].items()},
        "within_limit": within,
    }))  # fmt: skip
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
