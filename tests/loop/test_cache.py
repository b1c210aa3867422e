from __future__ import annotations

import multiprocessing
import os
import pickle
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from vbench.loop.cache import EmbeddingCache, Entry
from vbench.loop.keys import Address, digest

FIELDS = {"kind": "clip", "model": "clip", "sampler": "fps(2)"}
BASE = digest(FIELDS)


def entry(item: str, value: float = 1.0, fields: dict[str, str] = FIELDS) -> Entry:
    vector = np.array([value, 0.5], np.float32)
    return Entry(Address(digest(fields), item), vector, {"frame_indices": [1, 2]})


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path / "deep" / "cache.sqlite")


def test_what_is_put_is_got_bit_for_bit(cache: EmbeddingCache) -> None:
    entries = [entry(str(i), i / 3) for i in range(1200)]
    cache.put(entries, {BASE: FIELDS})
    found = EmbeddingCache(cache.path).get([e.address.key for e in entries] + ["unknown"])
    assert len(found) == 1200
    for e in entries:
        np.testing.assert_array_equal(found[e.address.key].vector, e.vector)
        assert found[e.address.key].facts == {"frame_indices": [1, 2]}


def test_an_entry_is_never_replaced(cache: EmbeddingCache) -> None:
    cache.put([entry("x", 1.0)], {BASE: FIELDS})
    cache.put([entry("x", 2.0)], {BASE: FIELDS})
    assert cache.get([entry("x").address.key])[entry("x").address.key].vector[0] == 1.0


def test_misses_are_explained_by_the_field_that_differs(cache: EmbeddingCache) -> None:
    cache.put([entry("a"), entry("b")], {BASE: FIELDS})
    other = FIELDS | {"model": "siglip", "sampler": "fps(9)"}
    cache.put([entry("a", fields=other)], {digest(other): other})
    now = FIELDS | {"sampler": "fps(1)"}
    missed = [Address(digest(now), item) for item in "abc"]
    assert cache.get(a.key for a in missed) == {}
    assert cache.explain(missed, now) == {
        "sampler: fps(2) there, fps(1) now": 2,
        "never seen": 1,
    }


def test_a_changed_file_has_another_hash(cache: EmbeddingCache, tmp_path: Path) -> None:
    file = tmp_path / "v.mp4"
    file.write_bytes(b"old")
    first = cache.file_hash(file)
    file.write_bytes(b"new")  # same size, and perhaps the same tick of the clock
    assert cache.file_hash(file) != first


def test_a_settled_file_is_hashed_once(
    cache: EmbeddingCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "v.mp4"
    file.write_bytes(b"old")
    os.utime(file, ns=(10**18, 10**18))
    first = cache.file_hash(file)
    monkeypatch.setattr("vbench.loop.cache.hash_file", lambda _: pytest.fail("hashed again"))
    assert EmbeddingCache(cache.path).file_hash(file) == first
    os.utime(file, ns=(10**18, 10**18 + 1))
    with pytest.raises(pytest.fail.Exception):
        cache.file_hash(file)


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "c.sqlite", limit_bytes=300_000)
    big = np.zeros(1000, np.float32)
    keep = Entry(Address(BASE, "keep"), big)
    cache.put([keep], {BASE: FIELDS})
    for i in range(150):
        cache.put([Entry(Address(BASE, str(i)), big)], {BASE: FIELDS})
        cache.get([keep.address.key])
    found = cache.get([keep.address.key, *(Address(BASE, str(i)).key for i in range(150))])
    assert keep.address.key in found
    assert Address(BASE, "149").key in found
    assert Address(BASE, "0").key not in found
    assert 10 < len(found) < 100


def test_trouble_is_told_once_and_costs_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.sqlite").write_bytes(b"this is no database" * 100)
    file = tmp_path / "v"
    file.write_bytes(b"x")
    cache = EmbeddingCache(tmp_path / "c.sqlite")
    cache.put([entry("a")], {BASE: FIELDS})
    assert cache.get(["a"]) == {}
    assert cache.file_hash(file) == digest_of(b"x")
    assert capsys.readouterr().err.count("going on without the cache") == 1


def digest_of(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def write_many(path: Path, first: int) -> None:
    cache = EmbeddingCache(path)
    for i in range(first, first + 40):
        cache.put([entry(str(i), i)], {BASE: FIELDS})


def test_many_processes_write_at_once(cache: EmbeddingCache) -> None:
    context = multiprocessing.get_context("fork")
    cache.get([])  # the parent's connection must not be used by the children
    writers = [context.Process(target=write_many, args=(cache.path, 40 * n)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert len(cache.get(Address(BASE, str(i)).key for i in range(160))) == 160


def test_a_file_that_another_process_has_just_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = sqlite3.connect(tmp_path / "c.sqlite", check_same_thread=False)
    other.executescript("CREATE TABLE begun (x); BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, other.commit)
    timer.start()
    cache = EmbeddingCache(tmp_path / "c.sqlite")
    cache.put([entry("a")], {BASE: FIELDS})
    timer.join()
    other.close()
    assert len(cache.get([entry("a").address.key])) == 1
    assert capsys.readouterr().err == ""


def test_it_crosses_to_workers(cache: EmbeddingCache) -> None:
    cache.put([entry("a")], {BASE: FIELDS})
    twin = pickle.loads(pickle.dumps(cache))  # noqa: S301 - our own object
    assert len(twin.get([entry("a").address.key])) == 1
