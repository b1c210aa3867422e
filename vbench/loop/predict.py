"""Lightning's predict loop around a model: devices, ranks and precision."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import lightning
import torch

from vbench.errors import ConfigError, ModelError, OtherRankError, RunError
from vbench.loop.ask import Ask
from vbench.loop.data import Batch
from vbench.loop.settings import TrainerSettings
from vbench.records import Prediction

WEIGHT_DTYPES = {
    "32-true": torch.float32,
    "bf16-true": torch.bfloat16,
    "16-true": torch.float16,
    "bf16-mixed": torch.float32,
    "16-mixed": torch.float32,
}
"""What the weights must be in under each of Lightning's precisions."""

_LONGEST_LEAD = timedelta(days=7)
"""How long a rank whose share is done waits for those that still compute."""


def make_trainer(settings: TrainerSettings) -> lightning.Trainer:
    """Builds a quiet Trainer that predicts and nothing else.

    Args:
        settings: conf/trainer.

    Raises:
        ConfigError: This machine lacks what the settings ask for.
    """
    many = settings.devices * settings.num_nodes > 1
    # Which accelerators exist, and advertising: what matters of it is in environment.json.
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    try:
        with _without_advice():
            return lightning.Trainer(
                accelerator=settings.accelerator,
                devices=settings.devices,
                num_nodes=settings.num_nodes,
                precision=settings.precision,
                strategy="ddp" if many else "auto",
                plugins=_cluster(),
                use_distributed_sampler=False,
                logger=False,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
            )
    except (lightning.fabric.utilities.exceptions.MisconfigurationException, ValueError) as error:
        raise ConfigError(
            "the trainer cannot be set up on this machine",
            where=f"trainer.accelerator={settings.accelerator} trainer.devices={settings.devices}",
            why=" ".join(str(error).split()),
            mend="use trainer=cpu, or as many devices as there are",
        ) from error


def _cluster() -> list[Any]:
    """Returns Slurm's environment without its requeueing, where Lightning would find it.

    Before its time is up a job would save a checkpoint of a training that there is none of, and
    queue itself again. Answers are on disk: the same command goes on.
    """
    from lightning.pytorch.plugins.environments import SLURMEnvironment

    return [SLURMEnvironment(auto_requeue=False)] if SLURMEnvironment.detect() else []


@contextmanager
def _without_advice() -> Iterator[None]:
    """Hides Lightning's advice on settings that vbench has chosen, and its own deprecations."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="lightning")
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")
        yield


@contextmanager
def exact_float32(precision: str) -> Iterator[None]:
    """Keeps a GPU from rounding what `32-true` multiplies to TF32's 10 bits.

    By default torch lets cuDNN do so in convolutions, such as the patch embedding of most vision
    towers, and not in matrix products (PyTorch's CUDA semantics, TensorFloat-32).

    Args:
        precision: `trainer.precision`; any but `32-true` leaves torch as it is.
    """
    if precision != "32-true":
        yield
        return
    before = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before[0]
        torch.set_float32_matmul_precision(before[1])


def led(trainer: lightning.Trainer, act: Callable[[], bool]) -> bool:
    """Lets rank 0 act before any other rank goes on, and tells all of them what came of it.

    Where Lightning starts the other ranks it does so later, in `predict`, and only if there is
    something to predict. A cluster (Slurm, torchrun, …) starts all of them at once.

    Args:
        trainer: From `make_trainer`.
        act: What rank 0 does; says whether something is left to predict.

    Returns:
        What `act` returns on rank 0.

    Raises:
        RunError: The ranks do not find each other.
        OtherRankError: On all but the first: `act` has failed.
    """
    if not _started_at_once(trainer):
        return act() if trainer.is_global_zero else True
    try:
        trainer.strategy.setup_environment()
    except RuntimeError as error:
        raise RunError(
            "the processes of the run do not find each other",
            where=f"seen by rank {trainer.global_rank} of {trainer.world_size}",
            why=" ".join(str(error).split())[:400],
            mend="start devices x num_nodes of them, on machines that reach the first",
        ) from error
    left: bool | None
    try:
        left = act() if trainer.is_global_zero else None
    except BaseException:
        with suppress(RuntimeError):  # what has failed here counts, whoever else is gone
            trainer.strategy.broadcast(None)
        raise
    try:
        left = trainer.strategy.broadcast(left)
    except RuntimeError as error:
        raise _another_failed(trainer) from error
    if left is None:
        raise _another_failed(trainer)
    return left


def _started_at_once(trainer: lightning.Trainer) -> bool:
    """Says whether something else than Lightning has started all ranks of a run."""
    from lightning.fabric.plugins.environments import LightningEnvironment

    own = getattr(trainer.strategy, "cluster_environment", None)
    return trainer.world_size > 1 and not isinstance(own, LightningEnvironment)


def _another_failed(trainer: lightning.Trainer) -> OtherRankError:
    return OtherRankError(
        "another process of the run has failed",
        where=f"seen by rank {trainer.global_rank} of {trainer.world_size}",
        why="it left before its share was done",
        mend="see what it says itself, then type the same command again: it resumes",
    )


class Predictor(lightning.LightningModule):
    """A model in the loop's clothes.

    Args:
        ask: Puts prepared work to the model.
        weights: The model's weights, None for a model without; Lightning moves and casts them.
        precision: What `trainer.precision` promised.
    """

    def __init__(self, ask: Ask, weights: torch.nn.Module | None, precision: str) -> None:
        super().__init__()
        self.ask = ask
        self.weights = weights
        self.precision = precision
        self.weight_dtype = WEIGHT_DTYPES[precision]
        # A rank whose share was done before the run was broken off has nothing to do but wait.
        self.allow_zero_length_dataloader_with_multiple_devices = True
        self.ranks: Any = None

    def setup(self, stage: str) -> None:
        """Opens the line on which ranks wait for one another at the end.

        The group that Lightning made gives up after half an hour, by which one share may well take
        longer than another. A socket breaks when a process ends, whatever the ranks compute on.
        """
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            self.ranks = torch.distributed.new_group(backend="gloo", timeout=_LONGEST_LEAD)

    def on_predict_start(self) -> None:
        """Reads the dtype back from the weights, and makes SIGTERM end the loop as Ctrl-C does.

        Raises:
            ModelError: Weights are not in the dtype that the precision promises.
        """
        found = {weight.dtype for weight in self.parameters() if weight.is_floating_point()}
        if found - {self.weight_dtype}:
            raise ModelError(
                f"weights are {', '.join(sorted(map(str, found)))}, not {self.weight_dtype}",
                where=f"trainer.precision={self.precision}",
                why="the model kept a dtype of its own",
                mend="choose the precision that the checkpoint supports",
            )
        if threading.current_thread() is threading.main_thread():
            # Lightning, which puts the old handler back at the end, would note it and go on.
            signal.signal(signal.SIGTERM, signal.default_int_handler)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, index: int) -> Any:
        """Leaves items where they are: frames move in chunks, when they are encoded."""
        return batch

    def predict_step(self, batch: Batch, batch_idx: int = 0) -> list[Prediction]:
        """Answers a batch of work under the trainer's precision."""
        return self.ask(batch.work, self.device, self.weight_dtype)


def predict(
    trainer: lightning.Trainer,
    predictor: Predictor,
    loader: Any,
    callbacks: Sequence[lightning.Callback],
) -> None:
    """Runs the loop on this rank and waits for the others; answers go to the writer only.

    Args:
        trainer: From `make_trainer`.
        predictor: The model in its loop clothes.
        loader: Batches of prepared work, with a length.
        callbacks: The prediction writer and the progress display.

    Raises:
        OtherRankError: Another rank has failed.
    """
    trainer.callbacks.extend(callbacks)
    try:
        with _without_advice(), exact_float32(predictor.precision):
            trainer.predict(predictor, loader, return_predictions=False)
    except SystemExit as stop:
        # Lightning turns Ctrl-C into an exit and switches Ctrl-C off; callers expect neither.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        raise KeyboardInterrupt from stop
    except BaseException as error:
        _kill_launched(trainer)
        if _is_of_the_line(error):
            raise _another_failed(trainer) from error
        raise
    try:
        if predictor.ranks is not None:  # all have written their shards
            torch.distributed.barrier(predictor.ranks)
    except RuntimeError as error:
        _kill_launched(trainer)
        raise _another_failed(trainer) from error


def _is_of_the_line(error: BaseException) -> bool:
    """Says whether it is not this rank that has failed, but its line to another one."""
    group = getattr(torch.distributed, "DistError", ())  # what NCCL and the store raise
    return isinstance(error, group) or (isinstance(error, RuntimeError) and "/gloo/" in str(error))


def _kill_launched(trainer: lightning.Trainer) -> None:
    """Ends the ranks that this one has launched: nobody is left to wait for them."""
    if trainer.strategy.launcher is not None:
        trainer.strategy.launcher.kill(signal.SIGKILL)
