"""Where a checkpoint is, and what identifies its content.

A checkpoint is named in one of three ways: a folder, a folder inside an installed package
(`pkg://package/folder`), or a repository of the Hugging Face hub (`owner/name`). A folder is
identified by the hash of its files, a repository by its commit; a path never enters an identity.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from dataclasses import dataclass
from pathlib import Path

from vbench.errors import ModelError, did_you_mean

_CONTENT = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".pt", ".pth", ".npz"})
"""Suffixes of the files that can change an embedding: weights, configs, vocabularies."""

_HUB_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that was found."""

    name: str
    """As the user wrote it, for messages."""
    source: str
    """What `from_pretrained` takes: a folder, or a repository of the hub."""
    revision: str | None = None
    """The commit of a hub repository; None for a folder."""
    local_files_only: bool = False
    """The hub could not be asked, so only its local cache is read."""

    def load_options(self) -> dict[str, str | bool]:
        """Returns the keyword arguments every `from_pretrained` call needs.

        A full commit and `local_files_only` both keep the libraries from asking the hub again, file
        by file, with retries of half a minute each where there is no network.
        """
        if self.revision is None:
            return {}
        return {"revision": self.revision, "local_files_only": self.local_files_only}

    def identity(self) -> str:
        """Returns `owner/name@commit`, or `sha256:…` of a folder's content."""
        if self.revision is None:
            return f"sha256:{folder_sha256(Path(self.source))}"
        return f"{self.source}@{self.revision}"


def find_checkpoint(name: str, revision: str | None = None) -> Checkpoint:
    """Finds a checkpoint by folder, `pkg://package/folder` or hub id.

    Args:
        name: A folder, a folder inside an installed package, or `owner/name` on the hub.
        revision: Branch, tag or commit; for the hub only.

    Raises:
        ModelError: There is no such checkpoint, or it cannot be reached.
    """
    if name.startswith("pkg://"):
        folder = _package_folder(name)
    elif Path(name).expanduser().is_dir():
        folder = Path(name).expanduser()
    elif looks_like_path(name):
        raise missing_path(name, "folder")
    else:
        return _find_on_hub(name, revision)
    if revision is not None:
        raise ModelError(
            f"a folder has no revision '{revision}'",
            where=f"checkpoint {name}",
            why="revisions exist in hub repositories only",
            mend="leave model.revision out, or name the folder that holds that version",
        )
    return Checkpoint(name, str(folder))


def missing_path(name: str, kind: str) -> ModelError:
    """Makes the error for a path that leads nowhere, naming what lies beside it."""
    path = Path(name).expanduser()
    if kind == "folder" and path.is_file():
        return ModelError(
            "the checkpoint is a file, not a folder",
            where=name,
            why="a Hugging Face checkpoint is a folder with config.json, weights and tokenizer",
            mend="name its folder; for one weight file of open_clip use model=open_clip "
            f"model.arch=ViT-B-32 model.pretrained={name}",
        )
    if not path.parent.is_dir():
        return ModelError(
            f"there is no such {kind}",
            where=name,
            why=f"its parent folder {path.parent} does not exist either",
            mend="check the path; relative paths start at the folder the command was typed in",
        )
    siblings = [p.name for p in path.parent.iterdir() if kind == "file" or p.is_dir()]
    hint = did_you_mean(path.name, siblings)
    return ModelError(
        f"there is no such {kind}",
        where=name,
        mend=f"{hint} (in {path.parent.resolve()})" if hint else "check the path",
    )


def folder_sha256(folder: Path) -> str:
    """Hashes the names and contents of a folder's weights, configs and vocabularies."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _CONTENT and path.is_file() and not path.name.startswith("."):
            total.update(f"{path.name}\0{file_sha256(path)}\n".encode())
    return total.hexdigest()


def file_sha256(path: Path) -> str:
    """Hashes a file's content in pieces, so that its size does not matter."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _package_folder(name: str) -> Path:
    package, _, inside = name.removeprefix("pkg://").partition("/")
    parts = inside.split("/")
    if not package.isidentifier() or not all(re.fullmatch(r"\w[\w.-]*", part) for part in parts):
        raise ModelError(
            "not a folder inside a package",
            where=name,
            why="the form is pkg://package/folder/…, without '..'",
            mend="write for example pkg://vbench/assets/toy_clip",
        )
    try:
        root = importlib.resources.files(package)
    except ModuleNotFoundError:
        raise ModelError(
            f"the package '{package}' is not installed",
            where=name,
            mend=f"install it with pip, or correct the name ({did_you_mean(package, ['vbench'])})",
        ) from None
    # A zipped package has no folder on disk, and from_pretrained reads folders only.
    folder = Path(str(root.joinpath(*parts)))
    if not folder.is_dir():
        raise missing_path(str(folder), "folder")
    return folder


def looks_like_path(name: str) -> bool:
    """Says whether a name is meant as a path although nothing is there."""
    parts = name.split("/")
    return name.startswith((".", "/", "~")) or "\\" in name or len(parts) > 2 or Path(name).exists()


def _find_on_hub(name: str, revision: str | None) -> Checkpoint:
    from huggingface_hub import HfApi, errors

    where = f"checkpoint {name}" + (f", revision {revision}" if revision else "")
    try:
        info = HfApi().model_info(name, revision=revision, timeout=_HUB_TIMEOUT_S)
    except errors.HFValidationError as error:
        raise ModelError(
            "neither a folder nor a hub id",
            where=where,
            why=str(error).splitlines()[0],
            mend="a hub id has the form owner/name; a folder must exist on this machine",
        ) from None
    except errors.GatedRepoError:
        raise ModelError(
            "the hub does not give this repository to everybody",
            where=where,
            mend=f"accept its terms at https://huggingface.co/{name}, then `hf auth login`",
        ) from None
    except errors.RevisionNotFoundError:
        raise ModelError(
            f"the repository has no revision '{revision}'",
            where=where,
            mend=f"see https://huggingface.co/{name}/commits, or leave model.revision out",
        ) from None
    except errors.RepositoryNotFoundError:
        raise ModelError(
            "the hub has no such model",
            where=where,
            why="the name is wrong, or the repository is private and no token is set",
            mend=f"look it up at https://huggingface.co/models?search={name.split('/')[-1]}"
            + _like_named_folder(name),
        ) from None
    except Exception as error:
        # Offline mode, no network, a proxy or a hub that is down: each HTTP library has errors of
        # its own for these, and the remedy is the same.
        return _find_in_cache(name, revision, where, error)
    return Checkpoint(name, name, info.sha)


def _find_in_cache(name: str, revision: str | None, where: str, cause: Exception) -> Checkpoint:
    from huggingface_hub import errors, snapshot_download

    try:
        folder = snapshot_download(name, revision=revision, local_files_only=True)
    except (errors.LocalEntryNotFoundError, OSError, ValueError):
        reason = str(cause).strip().splitlines() or [type(cause).__name__]
        raise ModelError(
            "the hub cannot be reached and the checkpoint is not in its local cache",
            where=where,
            why=reason[0],
            mend="check the name, the network and HF_HUB_OFFLINE; or copy the checkpoint here and "
            "name its folder" + _like_named_folder(name),
        ) from None
    return Checkpoint(name, name, Path(folder).name, local_files_only=True)


def _like_named_folder(name: str) -> str:
    parent = Path(name).parent
    folders = [p.name for p in parent.iterdir() if p.is_dir()] if parent.is_dir() else []
    hint = did_you_mean(Path(name).name, folders)
    return f"; of the folders in {parent.resolve()}: {hint}" if "did you mean" in hint else ""
