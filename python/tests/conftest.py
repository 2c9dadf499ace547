"""What tests share."""

from __future__ import annotations

from pathlib import Path

import pagewalk as pw
import pytest


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> pw.Recording:
    """A small workload under the host whose replays are always exact."""
    path = tmp_path_factory.mktemp("recordings") / "gups.rec"
    return pw.record(path, workload="gups:64K", set={"guest_time": "instructions", "host": "xeon-2017"})


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's directory."""
    return Path(__file__).parents[2]


def in_a_program(scheme: str) -> pw.Machine:
    """A guest whose hart stands in a program, whose pages are of 4K; kernels have larger ones."""
    machine = pw.Machine(workload="gups:64K", scheme=scheme)
    machine.run(100_000)
    while machine.registers()["supervisor"]:
        machine.run(1000)
    return machine
