"""Where the chunks of a sweep are replayed: processes of this machine, Ray, or Slurm.

A chunk is replayed by the command, in a process of its own. What it writes depends on the chunk alone, so that a worker that is lost is replaced, and
the result has the same bytes everywhere. Workers of a cluster read the recording at the same path.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pagewalk import _command
from pagewalk._native import PagewalkError, UsageError

#: How often a chunk begins again whose worker is lost.
_RETRIES = 3


@dataclass(frozen=True)
class Job:
    """A chunk to replay."""

    number: int
    #: The recording's path.
    recording: str
    #: Options of `pagewalk sweep`.
    options: list[str]


@dataclass(frozen=True)
class Done:
    """A chunk that is replayed."""

    number: int
    #: A line of JSON for each system.
    lines: str


class Backend(Protocol):
    """Replays chunks."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Done]:
        """Replay all jobs; yield each as it is finished, in any order."""


def replay(job: Job) -> Done:
    """Replay a chunk in a process of this machine."""
    with tempfile.TemporaryDirectory(prefix="pagewalk-") as directory:
        path = Path(directory) / "lines.jsonl"
        _command.run(["sweep", job.recording, *job.options, "--threads=1", f"--output={path}"])
        return Done(job.number, path.read_text(encoding="utf-8"))


class Local:
    """Processes of this machine."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or len(os.sched_getaffinity(0))

    def run(self, jobs: Sequence[Job]) -> Iterator[Done]:
        # A thread waits for each process.
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="pagewalk")
        try:
            for future in as_completed([pool.submit(replay, job) for job in jobs]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


class Ray:
    """A cluster of Ray: the one that it is connected to, else one of this machine."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers

    def run(self, jobs: Sequence[Job]) -> Iterator[Done]:
        import ray

        if not ray.is_initialized():
            ray.init(num_cpus=self._workers, include_dashboard=False, log_to_driver=False)
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_returned)
        waiting = [task.remote(job) for job in jobs]
        while waiting:
            (ready,), waiting = ray.wait(waiting, num_returns=1)
            yield _received(ray.get(ready))


class Slurm:
    """Jobs of Slurm, by submitit; `cluster` and `parameters` are those of its AutoExecutor."""

    def __init__(
        self,
        workers: int | None = None,
        *,
        cluster: str | None = None,
        directory: str | os.PathLike[str] = "pagewalk-slurm",
        **parameters: object,
    ) -> None:
        self._workers = workers
        self._cluster = cluster
        self._directory = directory
        self._parameters = parameters

    def run(self, jobs: Sequence[Job]) -> Iterator[Done]:
        import submitit

        executor = submitit.AutoExecutor(folder=os.fspath(self._directory), cluster=self._cluster)
        executor.update_parameters(cpus_per_task=1, **self._parameters)
        if self._workers is not None and executor.cluster == "slurm":
            executor.update_parameters(slurm_array_parallelism=self._workers)
        for done in submitit.helpers.as_completed(executor.map_array(_returned, jobs)):
            yield _received(done.result())


_BACKENDS: dict[str, Callable[[int | None], Backend]] = {"local": Local, "ray": Ray, "slurm": Slurm}


def by_name(name: str, workers: int | None) -> Backend:
    """Return the backend of this name."""
    if name not in _BACKENDS:
        raise UsageError(f"there is no backend {name!r}: it is one of {', '.join(_BACKENDS)}")
    return _BACKENDS[name](workers)


@dataclass(frozen=True)
class _Failed:
    """A failure of the command, as a value: a cluster would repeat a job that raises, and wrap its exception."""

    message: str
    usage: bool


def _returned(job: Job) -> Done | _Failed:
    try:
        return replay(job)
    except PagewalkError as error:
        return _Failed(str(error), isinstance(error, UsageError))


def _received(result: Done | _Failed) -> Done:
    if isinstance(result, _Failed):
        raise (UsageError if result.usage else PagewalkError)(result.message)
    return result
