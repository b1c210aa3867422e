from __future__ import annotations

from pathlib import Path

import torch
from hypothesis import given
from hypothesis import strategies as st

from vbench.loop.keys import fingerprint
from vbench.loop.plan import FileWork, Plan, TextWork, plan_encoder, plan_pairs
from vbench.records import Clip, Request


class Digest:
    def __init__(self, name: str = "sampler") -> None:
        self.name = name

    def digest(self) -> str:
        return self.name


class Encoder:
    needs = frozenset({"frames", "text"})
    module = torch.nn.Identity()
    preprocess = Digest("224")

    def __init__(self, name: str = "clip") -> None:
        self.name = name

    def identity(self) -> str:
        return self.name


def requests_of(tmp_path: Path) -> list[Request]:
    for name in "ab":
        (tmp_path / name).write_bytes(name.encode())
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    clips = [Clip("a", a), Clip("a", a, 0.0, 4.0), Clip("b", b)]
    return [Request((clip,), text) for clip in clips for text in ("x", "y", "x")]


def test_each_file_clip_and_text_is_planned_once(tmp_path: Path) -> None:
    plan = plan_encoder(requests_of(tmp_path), Encoder(), Digest(), "32-true")
    assert sorted(plan.texts.values()) == ["x", "y"]
    assert [len(work.clips) for work in plan.files.values()] == [2, 1]
    assert len(plan.keys) == 6
    assert len(plan.all_keys()) == 5


def test_same_bytes_under_two_paths_are_encoded_once(tmp_path: Path) -> None:
    (tmp_path / "one.mp4").write_bytes(b"same")
    (tmp_path / "two.mp4").write_bytes(b"same")
    requests = [Request((Clip(n, str(tmp_path / f"{n}.mp4")),), "x") for n in ("one", "two")]
    plan = plan_encoder(requests, Encoder(), Digest(), "32-true")
    assert plan.keys[requests[0]] == plan.keys[requests[1]]
    assert sum(len(work.clips) for work in plan.files.values()) == 1


def test_every_part_of_the_question_is_in_the_key(tmp_path: Path) -> None:
    (request,) = requests_of(tmp_path)[:1]

    def keys(model: str = "clip", sampler: str = "s", precision: str = "32-true") -> set[str]:
        return plan_encoder([request], Encoder(model), Digest(sampler), precision).all_keys()

    base = keys()
    assert keys() == base
    assert not keys(model="other") & base
    assert not keys(precision="bf16-true") & base
    assert len(keys(sampler="t") & base) == 1  # the text does not care for the sampler
    Path(request.clips[0].path).write_bytes(b"changed")
    assert len(keys() & base) == 1


def test_missing_files_do_not_share_a_key(tmp_path: Path) -> None:
    prints = {fingerprint(str(tmp_path / name)) for name in ("gone", "lost")}
    assert len(prints) == 2


def test_a_folder_of_frames_has_a_fingerprint_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "frame_001.jpg").write_bytes(b"1")
    before = fingerprint(str(tmp_path))
    (tmp_path / "frame_002.jpg").write_bytes(b"2")
    assert fingerprint(str(tmp_path)) != before


def test_pairs_are_grouped_by_file(tmp_path: Path) -> None:
    plan = plan_pairs(requests_of(tmp_path), Encoder("oracle"))
    assert [len(work.pairs) for work in plan.files.values()] == [4, 2]
    assert len(plan.all_keys()) == 6


@given(
    texts=st.integers(0, 30),
    files=st.integers(0, 20),
    world=st.integers(1, 5),
    batch=st.integers(1, 7),
    data=st.data(),
)
def test_ranks_cover_everything_once_whatever_is_done(
    texts: int, files: int, world: int, batch: int, data: st.DataObject
) -> None:
    plan = Plan(texts={f"t{i}": f"text {i}" for i in range(texts)})
    clip = Clip("v", "p")
    plan.files = {
        f"f{i}": FileWork(f"f{i}", ((f"c{i}", clip), (f"d{i}", clip))) for i in range(files)
    }
    everything = set(plan.texts) | {key for work in plan.files.values() for key, _ in work.clips}
    # Each rank looks at the folder at its own moment and so sees another set of finished keys.
    planned: list[str] = []
    finished: set[str] = set()
    for rank in range(world):
        done = data.draw(st.sets(st.sampled_from(sorted(everything)))) if everything else set()
        own = plan.work((), batch, rank, world)
        finished |= done & keys_of(own)
        planned += sorted(keys_of(plan.work(done, batch, rank, world)))
    assert len(planned) == len(set(planned))
    assert set(planned) | finished == everything


def keys_of(work: list) -> set[str]:
    found: set[str] = set()
    for item in work:
        found |= {key for key, _ in (item.texts if isinstance(item, TextWork) else item.clips)}
    return found


def test_texts_come_before_files_in_batches() -> None:
    plan = Plan(texts={str(i): str(i) for i in range(5)})
    plan.files = {"f": FileWork("f", (("c", Clip("v", "f")),))}
    assert [type(work) for work in plan.work((), 2)] == [TextWork] * 3 + [FileWork]
