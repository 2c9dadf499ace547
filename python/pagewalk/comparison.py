"""Comparisons of systems."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pagewalk import _command, _html
from pagewalk._native import PagewalkError, UsageError
from pagewalk._table import Table

#: Options of the command that have no keyword, with what takes their place.
_WITHOUT_KEYWORD = {
    "json": "the result is returned",
    "format": "the result has to_pandas and to_polars",
    "help": "help(pagewalk.compare) prints it",
}


class Comparison(Table):
    """What `compare` has measured."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self._report = dict(report)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Comparison:
        """Return the comparison whose JSON a command has written to `path`."""
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))

    @property
    def report(self) -> dict[str, Any]:
        """The whole report; docs/json-keys.md has its keys."""
        return self._report

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The runs, one for each workload and system, in their order."""
        runs: list[dict[str, Any]] = self._report["runs"]
        return runs

    @property
    def caption(self) -> str:
        """What the figures are over, and by which time model."""
        host, fidelity = self._report["host"].get("name"), self._report["config"].get("fidelity")
        return " ".join([f"host {host}, time by {fidelity}.", *self._report["caption"]])

    def run(self, workload: str, scheme: str) -> dict[str, Any]:
        """Return the run of a workload under a scheme, such as "nested:4K+4K". Raises KeyError if there is none, or more than one."""
        found = [run for run in self.runs if run["workload"] == workload and run["scheme"] == scheme]
        if len(found) != 1:
            names = ", ".join(dict.fromkeys(f"{run['workload']} under {run['scheme']}" for run in self.runs))
            raise KeyError(f"{len(found)} runs are of {workload} under {scheme}; there are {names}")
        return found[0]

    def _repr_html_(self) -> str:
        heads = ["workload", "scheme", "settings", "M instructions", "M cycles", "over free translation", "over native", "TLB misses"]
        cells = [
            [
                run["workload"],
                run["scheme"],
                " ".join(f"{key}={value}" for key, value in run["settings"].items()),
                f"{run['instructions'] / 1e6:.1f}",
                f"{run['cycles'] / 1e6:.1f}",
                _html.percent(run["overhead_ideal"]) if run["failed"] is None else f"failed: {run['failed']}",
                _html.percent(run["overhead"]),
                _html.grouped(run["tlb"]["l2_misses"]),
            ]
            for run in self.runs
        ]
        return _html.table(self.caption, heads, cells)

    def __repr__(self) -> str:
        return f"<Comparison of {len(self)} runs: {self.caption}>"


def compare(
    *,
    workload: str | Sequence[str] | None = None,
    scheme: str | Sequence[str] | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the command's option
    run: str | Sequence[str] | None = None,
    guest: str | os.PathLike[str] | None = None,
    fidelity: str | None = None,
    native: bool = False,
    **others: object,
) -> Comparison:
    """Run workloads on several systems, and return what translation costs on each.

    workload: names with sizes in bytes, such as "gups:16M"; the default is the five of the command.
    scheme:   systems, such as "native", "nested:4K+2M" or "nested/mmu.nested_tlb=off"; the default is all page sizes, native and nested.
    set:      keys of the configuration for all systems, such as {"harts": 4, "host": "xeon-2017"}.
    run:      commands for the Linux guest's shell, instead of workloads.
    guest:    "vos", "linux", "debian", or a kernel's file.
    fidelity: the time model, "counts", "cycles" or "core", the default.
    native:   also run the native machine of each virtualized system, which `overhead` is relative to.
    others:   any other option of `pagewalk compare`, with `_` in place of `-`: threads=2, harts=4, memory="2G", file="./prog".

    `overhead_ideal` is cycles over those of the same run with free translation, less one; `overhead` is the same over the native machine.
    Raises UsageError for what cannot be, and PagewalkError if a run fails; its attribute `comparison` then has all runs.
    """
    for name in others:
        if name in _WITHOUT_KEYWORD:
            raise UsageError(f"compare() has no keyword {name}: {_WITHOUT_KEYWORD[name]}")
    keywords = {
        "guest": guest,
        "workload": workload,
        "run": run,
        "scheme": scheme,
        "set": set,
        "fidelity": fidelity,
        "native": native,
        **others,
    }
    with tempfile.TemporaryDirectory(prefix="pagewalk-") as directory:
        path = Path(directory) / "report.json"
        try:
            _command.run(["compare", *_command.options(keywords), f"--json={path}"])
        except PagewalkError as error:
            if path.exists():
                error.comparison = Comparison.read(path)  # type: ignore[attr-defined]
            raise
        return Comparison.read(path)
