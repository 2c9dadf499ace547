"""Recordings: a guest is run once, and what translation depends on is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pagewalk import _command

if TYPE_CHECKING:
    from pagewalk.sweep import Sweep


class Recording:
    """The file of a recording."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"{self.path}: there is no such recording")

    def sweep(self, grid: Mapping[str, Sequence[object]], **keywords: object) -> Sweep:
        """Return a sweep of this recording; see `Sweep`."""
        from pagewalk.sweep import Sweep

        return Sweep(self, grid, **keywords)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Recording({str(self.path)!r})"


def record(
    output: str | os.PathLike[str],
    *,
    workload: str | None = None,
    run: str | None = None,
    guest: str | os.PathLike[str] | None = None,
    page: str | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the command's option
    **others: object,
) -> Recording:
    """Run a guest once, and write the recording to `output`.

    workload, run: what is recorded, one of them; guest as of `compare`.
    page:          the size of the guest's pages, "4K", "2M" or "1G".
    set:           keys of the configuration. A guest that uses its time can be replayed only if it is recorded with {"guest_time": "instructions"}.
    others:        any other option of `pagewalk record`, with `_` in place of `-`.
    """
    keywords = {"guest": guest, "workload": workload, "run": run, "page": page, "set": set, "output": output, **others}
    _command.run(["record", *_command.options(keywords)])
    return Recording(output)


def import_trace(trace: str | os.PathLike[str], output: str | os.PathLike[str], *, format: str, **others: object) -> Recording:  # noqa: A002
    """Make a recording of another tool's trace: formats, policies for pages and what a trace does not have are in docs/traces.md."""
    keywords = {"format": format, "output": output, **others}
    _command.run(["import", os.fspath(trace), *_command.options(keywords)])
    return Recording(output)
