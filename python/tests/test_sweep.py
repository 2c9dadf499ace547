"""Studies of recordings."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pagewalk as pw
import pytest
from pagewalk import backends

GRID = {"scheme": ["native", "nested"], "mmu.nested_tlb": ["off", 16], "mmu.replacement.l1d": ["lru", "fifo"]}


@pytest.fixture(scope="module")
def lines(recording: pw.Recording, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the command writes of the grid."""
    path = tmp_path_factory.mktemp("sweep") / "lines.jsonl"
    systems = [f"--scheme={system}" for system in recording.sweep(GRID).systems]
    words = [pw.command(), "--quiet", "sweep", str(recording.path), *systems, f"--output={path}"]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    return path.read_bytes()


def test_the_lines_are_those_of_the_command_for_any_chunk(recording: pw.Recording, lines: bytes, tmp_path: Path) -> None:
    for chunk in (1, 3, 100):
        output = tmp_path / f"{chunk}.jsonl"
        result = recording.sweep(GRID, chunk=chunk).run(output, workers=2)
        assert output.read_bytes() == lines
        assert [json.dumps(run) for run in result.runs] == [json.dumps(json.loads(line)) for line in lines.splitlines()]
        assert not (tmp_path / f"{chunk}.jsonl.parts").exists()


def test_the_table_has_the_keys_of_the_grid(recording: pw.Recording) -> None:
    frame = recording.sweep(GRID).run().to_pandas()
    assert len(frame) == 8
    assert list(frame["settings.mmu.replacement.l1d"][:2]) == ["lru", "fifo"]
    assert frame["tlb.l2_misses"].dtype.kind == "i"


def test_the_columns_are_those_of_the_command(recording: pw.Recording, tmp_path: Path) -> None:
    arrays = [[{"sizes": ["4K", "2M", "1G"], "sets": 64, "ways": ways}] for ways in (2, 4)]
    sweep = recording.sweep({"scheme": ["native", "nested", "shadow"], "mmu.l2": arrays}, inexact=True)
    path = tmp_path / "lines.csv"
    systems = [f"--scheme={system}" for system in sweep.systems]
    words = [pw.command(), "--quiet", "sweep", str(recording.path), *systems, "--inexact", f"--columns={path}"]
    subprocess.run(words, check=True, capture_output=True)
    frame = sweep.run().to_pandas()
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    assert names == list(frame.columns)
    assert "settings.mmu.l2" in names
    for name in ("scheme", "settings.mmu.l2", "storage_bits.total", "time.translation", "shadow.work.validation.steps"):
        column = names.index(name)
        assert [row[column] for row in rows] == ["" if value != value else str(value).removesuffix(".0") for value in frame[name]]


class Failing:
    """Replays so many chunks, and then fails."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.replayed: list[int] = []

    def run(self, jobs: Sequence[backends.Job]) -> Iterator[backends.Done]:
        for job in jobs:
            if len(self.replayed) == self.most:
                raise OSError("the power is off")
            self.replayed.append(job.number)
            yield backends.replay(job)


def test_a_sweep_goes_on_where_it_was(recording: pw.Recording, lines: bytes, tmp_path: Path) -> None:
    output = tmp_path / "lines.jsonl"
    sweep = recording.sweep(GRID, chunk=2)
    with pytest.raises(OSError, match="the power is off"):
        sweep.run(output, backend=Failing(3))
    assert not output.exists()
    # Another study does not take what is there for its own.
    other = Failing(100)
    recording.sweep(GRID, chunk=4).run(output, backend=other)
    assert other.replayed == [0, 1]
    rest = Failing(100)
    sweep.run(output, backend=rest)
    assert rest.replayed == [3]
    assert output.read_bytes() == lines
    assert not (tmp_path / "lines.jsonl.parts").exists()


def test_errors_have_the_message_of_the_command(recording: pw.Recording) -> None:
    with pytest.raises(pw.UsageError, match="harts: it changes more than translation"):
        recording.sweep({"harts": [1, 2]}).run()
    with pytest.raises(pw.UsageError, match="the grid's scheme is a list of values"):
        recording.sweep({"scheme": "native"})
    with pytest.raises(pw.UsageError, match="a system twice"):
        recording.sweep({"scheme": ["native", "native"]})
    with pytest.raises(pw.UsageError, match="there is no backend 'cloud'"):
        recording.sweep({"scheme": ["native"]}).run(backend="cloud")
    with pytest.raises(FileNotFoundError, match="there is no such recording"):
        pw.Recording("nothing.rec")


def test_slurm_s_jobs_return_the_same_bytes(recording: pw.Recording, lines: bytes, tmp_path: Path) -> None:
    output = tmp_path / "lines.jsonl"
    # submitit runs its jobs as processes of this machine where there is no Slurm.
    backend = backends.Slurm(cluster="local", directory=tmp_path / "jobs")
    recording.sweep(GRID, chunk=4).run(output, backend=backend)
    assert output.read_bytes() == lines


@pytest.fixture
def ray_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def workers_of_ray() -> list[int]:
    """Processes of Ray that replay chunks."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                name = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if name.startswith(b"ray::_returned"):
                found.append(int(process.name))
    return found


def test_ray_replaces_a_worker_that_is_killed(ray_cluster: None, lines: bytes, recording: pw.Recording, tmp_path: Path) -> None:
    class Killing(backends.Ray):
        """Kills a worker while it replays."""

        killed = 0

        def run(self, jobs: Sequence[backends.Job]) -> Iterator[backends.Done]:
            for done in super().run(jobs):
                for worker in workers_of_ray()[:1] if not self.killed else []:
                    os.kill(worker, signal.SIGKILL)
                    self.killed = worker
                    time.sleep(0.1)
                yield done

    output = tmp_path / "lines.jsonl"
    backend = Killing()
    recording.sweep(GRID, chunk=1).run(output, backend=backend)
    assert backend.killed, "no worker was there to kill"
    assert output.read_bytes() == lines


def test_a_failure_on_ray_has_the_message_of_the_command(ray_cluster: None, recording: pw.Recording) -> None:
    with pytest.raises(pw.UsageError, match="harts: it changes more than translation"):
        recording.sweep({"harts": [2]}).run(backend="ray")
