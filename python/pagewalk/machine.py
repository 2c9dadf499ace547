"""A guest that runs piece by piece, in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from pagewalk import _command, _native
from pagewalk._native import Stop


class Machine:
    """A guest on a simulated machine, which stands before its first instruction.

    A stop takes no simulated time, and what is read changes nothing: a guest that runs in pieces has the counts of one that runs at once. The guest
    is in this process, without the sandbox that the command has.
    """

    def __init__(
        self,
        *,
        guest: str | os.PathLike[str] | None = None,
        workload: str | None = None,
        run: str | None = None,
        scheme: str | None = None,
        set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the command's option
        restore: str | os.PathLike[str] | None = None,
        **others: object,
    ) -> None:
        """Make the guest.

        guest, workload, run, scheme, set: as of `compare`, but one of each. Without a workload or a command, the guest opens its console.
        restore: the file of a snapshot that the guest goes on from.
        others:  harts, memory, fidelity, append, file, kernel, initrd, disk, host and further options of `pagewalk boot`, with `_` in place of `-`.
        """
        keywords = {"guest": guest, "run": run, "scheme": scheme, "set": set, "restore": restore, **others}
        self._native = _native.Machine(_command.options(keywords), workload)

    def run(
        self,
        instructions: int | None = None,
        *,
        breakpoints: Iterable[int] = (),
        watch: Iterable[tuple[int, int, str]] = (),
    ) -> Stop:
        """Run the guest; return why it has stopped.

        instructions: how many its harts retire together at the most; None: no limit.
        breakpoints:  guest virtual addresses. The guest stops before an instruction there.
        watch:        (address, bytes, "read", "write" or "any"). The guest stops before an instruction that accesses it.

        Ctrl-C raises KeyboardInterrupt; the guest can run on then.
        """
        return self._native.run(instructions, list(breakpoints), list(watch), None)

    def step(self, hart: int = 0) -> Stop:
        """Run the guest until this hart has executed an instruction or taken a trap. Other harts have their turns meanwhile."""
        return self._native.run(None, [], [], hart)

    @property
    def ended(self) -> str | None:
        """How the guest has ended, in words; None while it runs."""
        outcome = self._native.outcome()
        return None if outcome is None else outcome[0]

    @property
    def status(self) -> int | None:
        """The status with which the guest's work has ended; None while it runs."""
        outcome = self._native.outcome()
        return None if outcome is None else outcome[1]

    @property
    def scheme(self) -> str:
        """The guest's system, as `scheme` names it."""
        return self._native.system()

    @property
    def harts(self) -> int:
        """How many harts the guest has."""
        return self._native.harts()

    @property
    def cycles(self) -> int:
        """Simulated time since the beginning, in cycles."""
        return self._native.elapsed()

    @property
    def instructions(self) -> int:
        """Instructions that the harts have retired together."""
        return int(self.statistics()["instructions"])

    def statistics(self) -> dict[str, Any]:
        """Return what was counted since the beginning; docs/json-keys.md has the keys, which are those of a run."""
        found: dict[str, Any] = json.loads(self._native.statistics())
        return found

    def output(self) -> str:
        """Return what the guest has printed since the last call."""
        return bytes(self._native.take_output()).decode(errors="replace")

    def type_text(self, text: str) -> None:
        """Type at the guest's console. The guest reads it as it runs."""
        self._native.type_keys(text.encode())

    def registers(self, hart: int = 0) -> dict[str, Any]:
        """Return the registers of a hart: `pc`, the lists `x` and `f`, and control and status registers by name."""
        found: dict[str, Any] = json.loads(self._native.registers(hart))
        return found

    def set_registers(self, hart: int = 0, **changes: object) -> None:
        """Change registers of a hart: set_registers(pc=0x80200000)."""
        self._native.set_registers(hart, json.dumps(changes))

    def read(self, address: int, bytes: int, *, space: str = "virtual", hart: int = 0) -> bytes:  # noqa: A002
        """Return `bytes` bytes of memory; `space` is "virtual" (of a hart), "guest" (physical) or "host" (physical)."""
        return _bytes(self._native.read(space, address, bytes, hart))

    def write(self, address: int, data: bytes, *, hart: int = 0) -> None:
        """Store `data` at a guest virtual address."""
        self._native.write(address, data, hart)

    def walk(self, address: int, *, hart: int = 0) -> dict[str, Any]:
        """Return the walk of a load from a guest virtual address: `whole` with nothing cached, `cached` with the walk caches as they are.

        The keys are those of `recorded_walk` in docs/json-keys.md. `WalkExplorer` shows it.
        """
        found: dict[str, Any] = json.loads(self._native.walk(address, hart))
        return found

    def tlb(self, *, hart: int = 0) -> dict[str, list[dict[str, Any]]]:
        """Return the entries of the TLBs "l1d", "l1i" and "l2" of the hart's processor, the most recently used first."""
        found: dict[str, list[dict[str, Any]]] = json.loads(self._native.tlb(hart))
        return found

    def snapshot(self, path: str | os.PathLike[str]) -> None:
        """Write the guest to a file, and end it; Machine(restore=path) goes on. A hart in the middle of its turn runs to its end before."""
        self._native.snapshot(os.fspath(path))

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        del self._native

    def __repr__(self) -> str:
        ended = self.ended
        return f"<Machine: {self._native.work()} under {self.scheme}, {self.instructions} instructions{'' if ended is None else ', ' + ended}>"


#: `read` has a parameter of this name.
_bytes = bytes
