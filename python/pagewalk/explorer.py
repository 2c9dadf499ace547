"""The walk explorer: a walk in a notebook, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets


class WalkExplorer(anywidget.AnyWidget):
    """Shows a walk as the grid of its references: a row for each step, and the entry that each reference reads.

    The walk is one of `Machine.walk` or the `recorded_walk` of a run. The arrow keys, or the buttons, go through the references in the order in which
    the hardware makes them; `step` is the number of the one that is shown, from 0.
    """

    _esm = Path(__file__).parent / "explorer.js"
    _css = Path(__file__).parent / "explorer.css"

    walk = traitlets.Dict().tag(sync=True)
    variant = traitlets.Enum(["whole", "cached"], "whole").tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def __init__(self, walk: Mapping[str, Any], *, variant: str = "whole", step: int = 0) -> None:
        """Show a walk: its "whole" with nothing cached, or "cached" with the walk caches as they were."""
        super().__init__(walk=dict(walk), variant=variant, step=step)

    @property
    def references(self) -> list[dict[str, Any]]:
        """The references in their order: the `stage` whose table the entry is of, its `level`, where it lies (`at`) and what it is (`entry`).

        Stage 1 translates guest virtual addresses: its table is the guest's, or the shadow table. Stage 2 is the hypervisor's.
        """
        found = []
        for step in self.walk[self.variant]["steps"]:
            found += [{"stage": 2, **reference} for reference in step["references"]]
            if step["entry"] is not None:
                found.append({"stage": 1, **step["entry"]})
        return found
