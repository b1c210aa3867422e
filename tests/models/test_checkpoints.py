"""Finding checkpoints: folders, packages, and a hub cache on disk with two revisions."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch

from vbench.checkpoints import file_sha256, find_checkpoint, folder_sha256
from vbench.errors import ModelError
from vbench.models.dual_encoder import DualEncoder

COMMITS = {"main": "a" * 40, "v2": "b" * 40}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """HF_HUB_OFFLINE=1 with an empty cache; the variable itself is read once, at import."""
    cache = tmp_path / "hub_cache"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    return cache


@pytest.fixture
def cached_repository(offline: Path, clip_folder: Path) -> Path:
    """The hub cache after owner/tiny was fetched at two revisions with different weights."""
    repository = offline / "models--owner--tiny"
    for branch, commit in COMMITS.items():
        shutil.copytree(clip_folder, repository / "snapshots" / commit)
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / branch).write_text(commit)
    from safetensors.torch import load_file, save_file

    weights = repository / "snapshots" / COMMITS["v2"] / "model.safetensors"
    changed = {k: v * 2 if v.is_floating_point() else v for k, v in load_file(weights).items()}
    save_file(changed, weights, metadata={"format": "pt"})
    return repository


def test_revision_is_passed_through_to_weights_and_identity(cached_repository: Path) -> None:
    main, second = (DualEncoder("owner/tiny", revision=r) for r in (None, "v2"))
    pixels = torch.zeros(1, 3, 32, 32)
    assert not torch.allclose(main.embed_frames(pixels), second.embed_frames(pixels))
    assert f'"owner/tiny@{COMMITS["main"]}"' in main.identity()
    assert f'"owner/tiny@{COMMITS["v2"]}"' in second.identity()


def test_unknown_revision_is_an_error(cached_repository: Path) -> None:
    with pytest.raises(ModelError) as caught:
        find_checkpoint("owner/tiny", "v3")
    assert "revision v3" in caught.value.where


def test_wrong_hub_id_offline_is_a_fast_plain_error(offline: Path) -> None:
    start = time.process_time()
    with pytest.raises(ModelError, match="cannot be reached") as caught:
        DualEncoder("openai/clip-vit-base-patch99")
    assert "openai/clip-vit-base-patch99" in caught.value.where
    assert "offline mode" in caught.value.why
    assert "HF_HUB_OFFLINE" in caught.value.mend
    assert caught.value.__cause__ is None
    assert time.process_time() - start < 5


def test_unreachable_hub_is_asked_once(
    offline: Path, monkeypatch: pytest.MonkeyPatch, cached_repository: Path
) -> None:
    """Without a network the libraries would retry each file for half a minute."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    calls = []

    def refuse(self: object, name: str, **options: object) -> None:
        calls.append((name, options["revision"]))
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    model = DualEncoder("owner/tiny", revision="v2")
    assert calls == [("owner/tiny", "v2")]
    assert COMMITS["v2"] in model.identity()


def test_hub_answers_become_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import errors

    class Answer:
        headers: dict[str, str] = {}  # noqa: RUF012
        request = None

    answers = {
        errors.RepositoryNotFoundError: "the hub has no such model",
        errors.RevisionNotFoundError: "has no revision 'v9'",
        errors.GatedRepoError: "does not give this repository to everybody",
    }
    for kind, message in answers.items():

        def answer(self: object, *_: object, kind: type = kind, **__: object) -> None:
            raise kind("no", response=Answer())

        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", answer)
        with pytest.raises(ModelError, match=message):
            find_checkpoint("openai/clip", "v9")


def test_hub_answer_gives_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Info:
        sha = COMMITS["v2"]

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: Info)
    found = find_checkpoint("openai/clip-vit-base-patch32", "v2")
    assert found.load_options() == {"revision": COMMITS["v2"], "local_files_only": False}
    assert found.identity() == f"openai/clip-vit-base-patch32@{COMMITS['v2']}"


@pytest.mark.parametrize("name", ["open ai/clip", "a--b"])
def test_neither_folder_nor_hub_id(name: str, offline: Path) -> None:
    with pytest.raises(ModelError, match="neither a folder nor a hub id"):
        find_checkpoint(name)


def test_missing_folder_suggests_its_siblings(tmp_path: Path) -> None:
    (tmp_path / "siglip_large").mkdir()
    (tmp_path / "clip_base").mkdir()
    with pytest.raises(ModelError, match="no such folder") as caught:
        find_checkpoint(str(tmp_path / "clip_bose"))
    assert "did you mean 'clip_base'?" in caught.value.mend


def test_missing_parent_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder") as caught:
        find_checkpoint(str(tmp_path / "no" / "clip"))
    assert str(tmp_path / "no") in caught.value.why


def test_folder_that_reads_like_a_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: Path
) -> None:
    (tmp_path / "models" / "clip_base").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert find_checkpoint("models/clip_base").revision is None
    with pytest.raises(ModelError) as caught:
        find_checkpoint("models/clip_bose")
    assert "did you mean 'clip_base'?" in caught.value.mend


def test_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "negclip.pth").write_bytes(b"x")
    with pytest.raises(ModelError, match="a file, not a folder") as caught:
        find_checkpoint(str(tmp_path / "negclip.pth"))
    assert "model=open_clip" in caught.value.mend


def test_folder_has_no_revision(clip_folder: Path) -> None:
    with pytest.raises(ModelError, match="no revision 'main'"):
        find_checkpoint(str(clip_folder), "main")


def test_folder_inside_a_package(
    clip_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "weights_of_mine"
    shutil.copytree(clip_folder, package / "assets" / "tiny")
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    inside = DualEncoder("pkg://weights_of_mine/assets/tiny")
    assert inside.identity() == DualEncoder(str(clip_folder)).identity()
    with pytest.raises(ModelError, match="no such folder") as caught:
        find_checkpoint("pkg://weights_of_mine/assets/tina")
    assert "did you mean 'tiny'?" in caught.value.mend


@pytest.mark.parametrize(
    "name",
    ["pkg://vbench/../secrets", "pkg://vbench", "pkg://../x", "pkg://vbench//etc", "pkg:///etc/x"],
)
def test_package_paths_stay_inside(name: str) -> None:
    with pytest.raises(ModelError, match="not a folder inside a package"):
        find_checkpoint(name)


def test_package_that_is_not_installed() -> None:
    with pytest.raises(ModelError, match="'vbanch' is not installed") as caught:
        find_checkpoint("pkg://vbanch/assets/toy_clip")
    assert "did you mean 'vbench'?" in caught.value.mend


def test_content_hash(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    first = folder_sha256(tmp_path)
    assert file_sha256(tmp_path / "model.safetensors").startswith("ba7816bf")  # FIPS 180-2, "abc"
    (tmp_path / "README.md").write_text("no part of an embedding")
    (tmp_path / ".cache.json").write_text("{}")
    assert folder_sha256(tmp_path) == first
    (tmp_path / "model.safetensors").rename(tmp_path / "other.safetensors")
    assert folder_sha256(tmp_path) != first
