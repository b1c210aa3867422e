"""VELOCITI's tests, built from VidSitu's labels with `vbench build`, and read like the release."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vbench.datasets.toy.provenance import ToyFacts
from vbench.datasets.velociti.layout import TEST_FILES, Layout, Source
from vbench.datasets.velociti.reader import check_tests, read_samples
from vbench.datasets.velociti.vidsitu.settings import Captions, SetSettings, read_manifest
from vbench.errors import ConfigError, DataError
from vbench.records import Facts, Sample

if TYPE_CHECKING:
    from vbench.datasets.velociti.vidsitu.language import LlmSettings


@dataclass
class FromVidsitu:
    """All ten tests of VELOCITI (arXiv 2406.10889v1), built from semantic role labels."""

    root: str
    """The set's folder, in the layout of VELOCITI v1."""
    vidsitu_root: str | None = None
    """The unpacked vidsitu_data.zip; needed for building only."""
    split: str = "valid"
    annotation: int = 0
    """Which annotator's role labels, from 0; VELOCITI does not say which it used."""
    num_videos: int | None = None
    """A seeded draw of so many videos; None: all of the split."""
    seed: int = 0
    match_arguments: bool = True
    """ActBind: both actions have a patient, or neither has. False: as in the paper."""
    captions: Captions = "template"
    llm_backend: Literal["endpoint", "local"] = "endpoint"
    llm_model: str | None = None
    """The endpoint's name of the model; or a checkpoint, with `llm_backend=local`."""
    llm_url: str | None = None
    """None: OPENAI_BASE_URL of the environment, else OpenAI itself."""
    llm_parallel: int = 8
    llm_max_tokens: int = 512
    llm_top_k: int | None = 1
    llm_timeout_s: float = 120.0
    llm_attempts: int = 6
    llm_backoff_s: float = 1.0
    journal: str | None = None
    """Every answer of the language model; None: `<root>.journal.jsonl`."""
    videos: str | None = None
    """The folder of the <video_id>.mp4, linked into the set; None: put them there yourself."""
    tests: Sequence[str] | None = None
    """The tests to read; None: all that the set has."""
    source: Source = "video"
    name: str = "velociti/from_vidsitu"

    def build(self) -> Path:
        """Builds the set unless it exists.

        Returns:
            Its folder.

        Raises:
            ConfigError: A setting cannot be used.
            DataError: Labels cannot be read, or the folder holds something else.
            ModelError: The language model does not answer; type the command again later.
        """
        from vbench.datasets.velociti.vidsitu.construction import construct

        root, settings, llm = Path(self.root), self._settings(), self._llm()
        found = read_manifest(root)
        if found is not None:
            self._check_same(settings, found)
            sys.stderr.write(f"vbench: {root} is built already, with these settings\n")
            return root
        if root.is_dir() and any(root.iterdir()):
            raise DataError(
                f"'{root}' is not empty and no set of this kind",
                where=f"dataset.root={root}",
                why="a set is built into a folder of its own",
                mend="give an empty or a new folder as dataset.root",
            )
        if self.vidsitu_root is None:
            raise ConfigError(
                "the labels to build from are not named",
                where="dataset.vidsitu_root",
                mend="dataset.vidsitu_root=PATH, the unpacked vidsitu_data.zip (docs/vidsitu.md)",
            )
        journal = Path(self.journal or f"{root}.journal.jsonl")
        videos = Path(self.videos) if self.videos else None
        construct(root, Path(self.vidsitu_root), settings, (llm, journal) if llm else None, videos)
        return root

    def samples(self) -> list[Sample]:
        """Returns the samples, test by test, each in file order.

        Raises:
            ConfigError: A test does not exist.
            DataError: The set is not built, or a file is missing or malformed.
        """
        check_tests(self.tests)
        root = self._built()
        tests = self.tests
        if tests is None:
            there = Layout.find(root).annotations
            tests = [name for name, file in TEST_FILES.items() if (there / file).is_file()]
        return read_samples(root, tests, self.source)

    def facts(self) -> Facts:
        """Returns what the labels say of the videos, and what each caption claims.

        Labels are people's opinions, so an oracle that is right by them is right by their rules.

        Raises:
            DataError: The set is not built.
        """
        return ToyFacts(self._built())

    def _built(self) -> Path:
        root = Path(self.root)
        if read_manifest(root) is None:
            raise DataError(
                f"no set built from VidSitu in '{root}'",
                where=f"dataset.root={root}",
                mend="vbench build dataset=velociti/from_vidsitu dataset.vidsitu_root=PATH "
                f"dataset.root={root}",
            )
        return root

    def _settings(self) -> SetSettings:
        from vbench.datasets.velociti.vidsitu.prompting import digest

        llm = self._llm()
        settings = SetSettings(
            split=self.split,
            annotation=self.annotation,
            num_videos=self.num_videos,
            seed=self.seed,
            match_arguments=self.match_arguments,
            captions=self.captions,
            model=llm.open().identity if llm else None,
            prompts=digest() if llm else None,
        )
        settings.check()
        return settings

    def _llm(self) -> LlmSettings | None:
        if self.captions == "template":
            return None
        from vbench.datasets.velociti.vidsitu.endpoint import EndpointSettings
        from vbench.datasets.velociti.vidsitu.language import LlmSettings

        endpoint = EndpointSettings(
            self.llm_url,
            self.llm_top_k,
            self.llm_max_tokens,
            self.llm_timeout_s,
            self.llm_attempts,
            self.llm_backoff_s,
        )
        return LlmSettings(self.llm_model, self.llm_backend, self.llm_parallel, endpoint)

    def _check_same(self, wanted: SetSettings, found: object) -> None:
        asked = wanted.document()
        have = found if isinstance(found, dict) else {}
        wrong = [
            f"{key} is {have.get(key)}, asked for {value}"
            for key, value in asked.items()
            if have.get(key) != value
        ]
        if wrong:
            raise DataError(
                "the set was built with other settings",
                where=f"dataset.root={self.root}",
                why="; ".join(wrong),
                mend="choose another dataset.root, or delete the folder to build it anew (a "
                "journal beside it stays)",
            )
