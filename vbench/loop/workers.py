"""Processes that prepare work and can be killed: both ends of the socket to the loop."""

from __future__ import annotations

import ctypes
import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Literal, Protocol, cast

import torch

from vbench.errors import RunError
from vbench.loop.data import Prepared, PreparedClip, PreparedFile
from vbench.loop.plan import TextWork, Work

NAME = "vbench-decode"
"""What worker processes are called."""

START_S = 300.0
"""How long a worker may take to start; a spawned one imports torch."""

StartMethod = Literal["fork", "spawn"]


class WorkSource(Protocol):
    """What is needed of `vbench.loop.data.WorkDataset`."""

    @property
    def work(self) -> Sequence[Work]:
        """The pieces of work."""
        ...

    def __getitem__(self, index: int) -> Prepared:
        """Prepares one of them."""
        ...


def prepare(source: WorkSource, index: int) -> Prepared:
    """Prepares a piece of work; what nobody foresaw becomes a status of its clips.

    Raises:
        RunError: It is the disk that fails, not the video.
    """
    try:
        return source[index]
    except RunError:
        raise
    except Exception as error:
        return lost(source.work[index], f"{type(error).__name__}: {error}")


def lost(work: Work, reason: str) -> Prepared:
    """Returns a piece of work of which nothing could be decoded, for a reason."""
    if isinstance(work, TextWork):
        return work
    reason = " ".join(reason.split())
    clips = [
        PreparedClip(key, clip, status="decode_error", reason=reason) for key, clip in work.clips
    ]
    return PreparedFile(work.path, clips, None, work.pairs)


class WorkerLostError(Exception):
    """A worker process has ended; the message says why."""


class Worker:
    """A worker process and the loop's end of the socket.

    Args:
        source: Prepares pieces of work; a spawned worker gets a pickled copy.
        timeout_s: A piece that takes longer is given up, and the worker killed.
        start_method: How the process is made; None: forked where that is safe.

    Raises:
        RunError: The process cannot be started.
    """

    def __init__(
        self, source: WorkSource, timeout_s: float, start_method: StartMethod | None = None
    ) -> None:
        self.timeout_s = min(timeout_s, 1e6)  # poll() knows no infinity
        context = multiprocessing.get_context(start_method or default_start_method())
        self.connection, other_end = context.Pipe()
        self.process = context.Process(  # type: ignore[attr-defined]  # of both start methods
            target=_serve, args=(source, other_end, os.getpid()), name=NAME, daemon=True
        )
        try:
            self.process.start()
        except Exception as error:
            raise _cannot_start(f"{type(error).__name__}: {error}") from error
        finally:
            other_end.close()

    def greet(self) -> None:
        """Waits until the process is ready.

        Raises:
            RunError: It will never be.
        """
        try:
            if not self.connection.poll(START_S):
                raise _cannot_start(f"none was ready after {START_S:g} s")
            self.connection.recv()
        except (EOFError, OSError) as error:
            raise _cannot_start(self._end()) from error

    def ask(self, index: int) -> Prepared:
        """Has the process prepare a piece of work.

        Raises:
            RunError: The disk fails.
            WorkerLostError: The process took too long and was killed, or has died.
        """
        try:
            self.connection.send(index)
            if not self.connection.poll(self.timeout_s):
                self.process.kill()
                raise WorkerLostError(
                    f"decoding took longer than {self.timeout_s:g} s and was stopped"
                    " (loader.decode_timeout_s)"
                )
            return _receive(self.connection)
        except (EOFError, OSError) as error:
            raise WorkerLostError(self._end()) from error

    def close(self) -> None:
        """Kills the process, whatever it is doing, and waits for its end."""
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _end(self) -> str:
        """Waits for a process that has closed its socket, and says how it ended."""
        self.process.join(5)
        self.close()
        code = self.process.exitcode or 0
        if code >= 0:
            return f"the decode process ended with exit code {code}"
        names = {each.value: each.name for each in signal.Signals}
        hint = "; was there too little memory?" if -code == signal.SIGKILL else ""
        return f"the decode process died of {names.get(-code, f'signal {-code}')}{hint}"


def default_start_method() -> StartMethod:
    """Returns `fork`, unless forked processes would inherit a CUDA that they must not touch.

    Forking takes 0.2 s; a spawned process imports torch anew, and cannot be told to from a script
    that calls vbench outside `if __name__ == "__main__":`.
    """
    cuda = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return "fork" if sys.platform == "linux" and not cuda else "spawn"


def refuse_to_run_in_a_worker() -> None:
    """Stops a spawned process that imports the script which started it from starting all anew.

    Raises:
        RunError: This process is a worker.
    """
    if multiprocessing.current_process().name == NAME:
        raise _cannot_start("a script that calls vbench is run again in each of them")


def _serve(source: WorkSource, connection: Connection, parent: int) -> None:
    """Is the process: prepares what it is asked for until the connection closes."""
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent acts on it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # where forked: not Lightning's handler
    torch.set_num_threads(1)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        connection.send("ready")
        while True:
            index = connection.recv()
            try:
                item: Prepared | RunError = prepare(source, index)
            except RunError as error:
                item = error
            _send(item, connection)
            del item  # it may be large, and the next index may be long in coming


def _send(item: Prepared | RunError, connection: Connection) -> None:
    """Sends an item, its pixels as they lie in memory."""
    if not isinstance(item, PreparedFile) or item.pixels is None:
        connection.send((item, None, None))
        return
    pixels = item.pixels.contiguous()
    connection.send((replace(item, pixels=None), pixels.shape, pixels.dtype))
    stream = io.FileIO(connection.fileno(), "wb", closefd=False)
    rest = _bytes(pixels)
    while rest:
        rest = rest[stream.write(rest) :]


def _receive(connection: Connection) -> Prepared:
    """Receives an item, its pixels straight to where they are to lie."""
    item, shape, dtype = connection.recv()
    if isinstance(item, RunError):
        raise item
    if shape is None:
        return cast(Prepared, item)
    pixels = torch.empty(shape, dtype=dtype)
    stream = io.FileIO(connection.fileno(), "rb", closefd=False)
    rest = _bytes(pixels)
    while rest:
        count = stream.readinto(rest)
        if not count:
            raise EOFError
        rest = rest[count:]
    return replace(cast(PreparedFile, item), pixels=pixels)


def _bytes(tensor: torch.Tensor) -> memoryview:
    return memoryview(tensor.view(-1).view(torch.uint8).numpy())  # type: ignore[arg-type]


def _die_with(parent: int) -> None:
    """Has the kernel kill this process when its parent ends, however that ends.

    Only Linux can; elsewhere a worker ends when it next turns to its parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def _cannot_start(why: str) -> RunError:
    return RunError(
        "processes that decode cannot be started",
        where="loader.num_workers",
        why=why,
        mend="try loader.num_workers=0; a script must call vbench in `if __name__ == '__main__':`",
    )
