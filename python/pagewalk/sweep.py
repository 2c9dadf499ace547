"""Studies of a recording: many systems, on one machine or on a cluster."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pagewalk import _html, backends
from pagewalk._command import value_text
from pagewalk._native import UsageError
from pagewalk._table import Table
from pagewalk.recording import Recording

#: Systems that one process replays. A process reads the recording's description and its guest once.
_CHUNK = 32


class SweepResult(Table):
    """What a sweep has counted, a run for each system."""

    def __init__(self, runs: Sequence[Mapping[str, Any]]) -> None:
        self._runs = [dict(run) for run in runs]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SweepResult:
        """Return what a file of lines holds."""
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return cls([json.loads(line) for line in lines])

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The runs in the order of the grid. `settings` has the keys of each; docs/json-keys.md has the others."""
        return self._runs

    def _repr_html_(self) -> str:
        heads = ["scheme", "settings", "exact", "L1D misses", "TLB misses", "references", "translation, cycles"]
        cells = [
            [
                run["scheme"],
                " ".join(f"{key}={value}" for key, value in run["settings"].items()),
                "yes" if run["exact"] else "no",
                _html.grouped(run["tlb"]["l1d_misses"]),
                _html.grouped(run["tlb"]["l2_misses"]),
                _html.grouped(run["walks"]["guest_refs"] + run["walks"]["host_refs"]),
                _html.grouped(run["time"]["translation"]),
            ]
            for run in self._runs
        ]
        work = self._runs[0]["recording"]["work"] if self._runs else "nothing"
        return _html.table(f"Replays of {work}; time by counts", heads, cells)

    def __repr__(self) -> str:
        return f"<SweepResult of {len(self)} systems>"


class Sweep:
    """A study: one recording, and a grid of systems."""

    def __init__(
        self,
        recording: Recording | str | os.PathLike[str],
        grid: Mapping[str, Sequence[object]],
        *,
        set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the command's option
        inexact: bool = False,
        chunk: int = _CHUNK,
    ) -> None:
        """Make the study.

        grid:    keys of the configuration with their values: {"scheme": ["native", "nested"], "mmu.l2.sets": [64, 128]} are four systems. The last
                 key varies first. "scheme" is "native" where it is left out.
        set:     keys for all systems.
        inexact: also count where a replay may differ from a run by a little (docs/record.md). Without it, such a system is an error.
        chunk:   how many systems one process replays. The result does not depend on it.
        """
        self.recording = recording if isinstance(recording, Recording) else Recording(recording)
        self.set = dict(set or {})
        self.inexact = inexact
        if chunk < 1:
            raise UsageError(f"chunk is {chunk}: it is at least 1")
        self.chunk = chunk
        self.systems = list(_systems(grid))
        if len(dict.fromkeys(self.systems)) != len(self.systems):
            raise UsageError("the grid has a system twice")

    def __len__(self) -> int:
        return len(self.systems)

    def run(
        self,
        output: str | os.PathLike[str] | None = None,
        *,
        backend: str | backends.Backend = "local",
        workers: int | None = None,
        progress: bool = False,
    ) -> SweepResult:
        """Replay the recording on every system.

        output:   write the lines to this file as well. A sweep that was interrupted goes on where it was: what is finished is beside the file, in
                  `FILE.parts`, until all is.
        backend:  "local" (processes of this machine), "ray" (the cluster that Ray is connected to, else a local one), "slurm" (by submitit), or an
                  object with the method of `pagewalk.backends.Backend`. The result has the same bytes under each.
        workers:  processes at once; the default is one for each processor, or what the cluster has.
        progress: draw a bar, by tqdm.
        """
        chosen = backends.by_name(backend, workers) if isinstance(backend, str) else backend
        chunks = [self.systems[at : at + self.chunk] for at in range(0, len(self.systems), self.chunk)]
        with _Parts.open(output, self._identity()) as parts:
            missing = [number for number in range(len(chunks)) if not parts.has(number)]
            jobs = [backends.Job(number, str(self.recording.path.resolve()), self._options(chunks[number])) for number in missing]
            finished = chosen.run(jobs)
            for done in _drawn(finished, len(chunks), len(chunks) - len(missing), progress):
                parts.put(done.number, done.lines)
            lines = parts.joined(len(chunks))
            if output is not None:
                _replace(Path(output), lines)
        return SweepResult([json.loads(line) for line in lines.splitlines()])

    def _options(self, systems: Sequence[str]) -> list[str]:
        options = [f"--scheme={system}" for system in systems]
        options += [f"--set={key}={value_text(value)}" for key, value in self.set.items()]
        return [*options, *(["--inexact"] if self.inexact else [])]

    def _identity(self) -> str:
        """What tells the parts of this study from those of another."""
        state = self.recording.path.stat()
        parts = [state.st_size, state.st_mtime_ns, self.chunk, *self._options(self.systems)]
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"<Sweep of {self.recording.path} over {len(self)} systems>"


class _Parts:
    """The lines of chunks that are finished, a file for each."""

    def __init__(self, directory: Path, *, keep: bool) -> None:
        self._directory = directory
        self._keep = keep

    @classmethod
    def open(cls, output: str | os.PathLike[str] | None, identity: str) -> _Parts:
        if output is None:
            return cls(Path(tempfile.mkdtemp(prefix="pagewalk-")), keep=False)
        directory = Path(f"{os.fspath(output)}.parts") / identity
        directory.mkdir(parents=True, exist_ok=True)
        return cls(directory, keep=True)

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:06}.jsonl"

    def has(self, number: int) -> bool:
        return self._path(number).is_file()

    def put(self, number: int, lines: str) -> None:
        _replace(self._path(number), lines)

    def joined(self, count: int) -> str:
        return "".join(self._path(number).read_text(encoding="utf-8") for number in range(count))

    def __enter__(self) -> _Parts:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # What is finished is kept for the next time, but not once the whole is.
        if kind is None or not self._keep:
            shutil.rmtree(self._directory, ignore_errors=True)
            if self._keep and not any(self._directory.parent.iterdir()):
                self._directory.parent.rmdir()


def _systems(grid: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """The systems of a grid, as `--scheme` takes them."""
    for key, values in grid.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or not values:
            raise UsageError(f"the grid's {key} is a list of values")
    schemes = [str(scheme) for scheme in grid.get("scheme", ["native"])]
    others = {key: values for key, values in grid.items() if key != "scheme"}
    for scheme in schemes:
        for values in itertools.product(*others.values()):
            yield "/".join([scheme, *(f"{key}={value_text(value)}" for key, value in zip(others, values, strict=True))])


def _replace(path: Path, text: str) -> None:
    """Write a file at once: another process sees all of it or nothing."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o666 & ~_umask())
    os.replace(file.name, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _drawn(finished: Iterator[backends.Done], total: int, before: int, progress: bool) -> Iterator[backends.Done]:
    if not progress:
        yield from finished
        return
    from tqdm.auto import tqdm

    yield from tqdm(finished, total=total, initial=before, unit="chunk", desc="replays")
