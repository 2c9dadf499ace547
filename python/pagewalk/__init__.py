"""What does virtualizing memory cost a program?

A hypervisor over a software RISC-V machine. Addresses and sizes are in bytes, simulated time is in cycles of the simulated processor.
Results of equal arguments are equal to the byte.
"""

from pagewalk._command import PagewalkWarning, command
from pagewalk._native import PagewalkError, Stop, UsageError
from pagewalk.comparison import Comparison, compare
from pagewalk.machine import Machine
from pagewalk.recording import Recording, import_trace, record
from pagewalk.sweep import Sweep, SweepResult

__all__ = [
    "Comparison",
    "Machine",
    "PagewalkError",
    "PagewalkWarning",
    "Recording",
    "Stop",
    "Sweep",
    "SweepResult",
    "UsageError",
    "WalkExplorer",
    "command",
    "compare",
    "import_trace",
    "record",
]


def __getattr__(name: str) -> object:
    # The explorer needs a package that the others do not.
    if name == "WalkExplorer":
        from pagewalk.explorer import WalkExplorer

        return WalkExplorer
    raise AttributeError(f"module 'pagewalk' has no attribute {name!r}")
