"""Weights & Biases as a mirror: it may be offline, off or broken, and the run goes on.

While the run lasts, completed samples are appended to an INCREMENTAL table; at the end one full
table with the frames the model saw, a column for each clip of a sample, is logged, and the
estimates as summary values. The same can be done afterwards, from the run folder alone (`replay`).

Nothing secret is sent: no command line, no address of a git remote, no settings of the environment,
and of settings no key or password (`text.public`).
"""

from __future__ import annotations

import netrc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec
from urllib.parse import urlsplit

from omegaconf import OmegaConf

from vbench.errors import RunError
from vbench.results.folders import sweep_of
from vbench.results.rows import read_records
from vbench.results.run import load_run
from vbench.results.text import public
from vbench.schema import config_digest, identity, run_name

COLUMNS = (
    "test", "sample_id", "video_id", "cluster", "texts", "target", "scores", "outcome", "status",
    "reason", "response", "rule",
)  # fmt: skip

P = ParamSpec("P")


def _never_fatal(
    method: Callable[Concatenate[WandbMirror, P], None],
) -> Callable[Concatenate[WandbMirror, P], None]:
    def guarded(self: WandbMirror, /, *args: P.args, **kwargs: P.kwargs) -> None:
        if self.broken:
            return
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.broken = True
            self.reason = " ".join(f"{type(error).__name__}: {error}".split())
            sys.stderr.write(f"wandb: mirroring stopped, the run goes on locally ({self.reason})\n")

    return guarded


@dataclass
class WandbMirror:
    """One W&B run that mirrors one run folder (conf/logger/wandb.yaml)."""

    project: str = "vbench"
    entity: str | None = None
    group: str | None = None
    tags: Sequence[str] = ()
    mode: Literal["auto", "online", "offline"] = "auto"
    """auto: online where an API key is at hand, else offline."""
    max_rows: int = 200_000
    """Rows of the final table; W&B holds no more."""

    def __post_init__(self) -> None:
        self.wants_frames = True
        self.broken = False
        self.reason = ""
        self.run: Any = None
        self.live: Any = None

    @_never_fatal
    def start(self, folder: Path, run_id: str, name: str, config: Mapping[str, object]) -> None:
        """Opens the W&B run.

        Args:
            folder: The run folder; W&B's files lie in its wandb/.
            run_id: The run's identity, also W&B's.
            name: What W&B shows.
            config: Flattened settings, one column each.
        """
        import wandb

        folder.mkdir(parents=True, exist_ok=True)
        # W&B would stage table artifacts in the home folder, which may be small or read-only.
        os.environ.setdefault("WANDB_DATA_DIR", str(folder.resolve() / "wandb"))
        self.run = wandb.init(
            project=self.project,
            entity=self.entity,
            group=self.group,
            tags=list(self.tags),
            mode=self._mode(),
            dir=str(folder),
            id=run_id,
            name=name,
            config={key: public(value, key) for key, value in config.items()},
            resume="allow",
            settings=wandb.Settings(
                silent=True,
                console="off",
                disable_git=True,
                disable_code=True,
                save_code=False,
                x_disable_meta=True,
                x_disable_stats=True,
            ),
        )
        self.live = wandb.Table(columns=list(COLUMNS), log_mode="INCREMENTAL")

    @_never_fatal
    def add(self, records: Sequence[Mapping[str, object]]) -> None:
        """Appends completed samples to the live table."""
        for record in records:
            self.live.add_data(*_cells(record))
        if records:
            self.run.log({"samples_live": self.live})

    @_never_fatal
    def finish(
        self,
        records: Sequence[Mapping[str, object]],
        estimates: Mapping[str, Mapping[str, object]],
        strips: Path,
    ) -> None:
        """Logs the full table and the estimates, and closes the W&B run.

        Args:
            records: Every sample of the run.
            estimates: By test, as in summary.json.
            strips: The folder of frame strips, named by clip key.
        """
        import wandb

        shown = records[: self.max_rows]
        heads = _heads(shown)
        table = wandb.Table(columns=[*heads, *COLUMNS])
        for record in shown:
            table.add_data(*_strips(wandb, record, strips, len(heads)), *_cells(record))
        if len(shown) < len(records):
            sys.stderr.write(f"wandb: {len(shown)} of {len(records)} rows mirrored (max_rows)\n")
        self.run.log({"samples": table})
        for test, estimate in estimates.items():
            for field, value in estimate.items():
                self.run.summary[f"{test}/{field}"] = value
        self.run.finish()

    @_never_fatal
    def fail(self) -> None:
        """Closes the W&B run as failed."""
        self.run.finish(exit_code=1)

    def _mode(self) -> Literal["online", "offline"]:
        if self.mode != "auto":
            return self.mode
        return "online" if _has_key() else "offline"


def replay(folder: Path) -> Path:
    """Mirrors a finished run from its folder, as it would have been mirrored while it ran.

    Where the run was mirrored to (project, entity, group, tags) is where it goes; one that was not
    goes where conf/logger/wandb.yaml says, grouped by the sweep that holds it. Frames are shown as
    far as their strips are there.

    Args:
        folder: The run folder.

    Returns:
        The folder of W&B's files.

    Raises:
        RunError: It is no finished run, its records are damaged, or W&B failed.
    """
    run = load_run(folder)
    records = read_records(folder).to_pylist()
    config = OmegaConf.create(run.config)
    mirror = _mirror_of(run.config["logger"])
    mirror.group = mirror.group or sweep_of(folder)
    mirror.start(folder, config_digest(config), run_name(config), identity(run.config))
    mirror.add(records)
    mirror.finish(records, run.summary["tests"], folder / "frames")
    if mirror.broken:
        raise RunError("the run could not be mirrored", where=str(folder), why=mirror.reason)
    return folder / "wandb"


def _mirror_of(logger: Mapping[str, Any]) -> WandbMirror:
    if not str(logger.get("_target_", "")).endswith(f".{WandbMirror.__name__}"):
        return WandbMirror()
    return WandbMirror(**{f.name: logger[f.name] for f in fields(WandbMirror) if f.name in logger})


def _has_key() -> bool:
    """Whether W&B would find an API key without asking: in the environment or in ~/.netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlsplit(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc().authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def _cells(record: Mapping[str, Any]) -> list[object]:
    """Flattens lists to text, so that every column has one type whatever the test."""
    flat = dict(record)
    flat["texts"] = " | ".join(record["texts"])
    flat["scores"] = " ".join(f"{score:.6g}" for score in record["scores"])
    return [flat[column] for column in COLUMNS]


def _heads(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a heading for each clip that a sample may have."""
    clips = max((len(record["clip_keys"]) for record in records), default=1)
    return ["frames", *(f"frames {number}" for number in range(2, clips + 1))]


def _strips(wandb: Any, record: Mapping[str, Any], strips: Path, width: int) -> list[object]:
    """Returns a cell per clip; cells stay empty where a clip has no strip, or there is no clip."""
    cells: list[object] = [None] * width
    for place, key in enumerate(record["clip_keys"]):
        file = strips / f"{key}.jpg"
        if key and file.exists():
            cells[place] = wandb.Image(str(file))
    return cells
