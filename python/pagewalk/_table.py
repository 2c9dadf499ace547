"""Runs as rows: nested keys of their JSON become names with dots."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars

Row = dict[str, Any]


#: The key of a run whose keys are names of the configuration, which have dots themselves.
_SETTINGS = "settings"


def flat(run: Mapping[str, Any], prefix: str = "") -> Row:
    """Return the numbers, texts and truth values of a run by name.

    Lists stay out, since a cell of a table holds one value. But a setting is always one cell, with a list or a table as JSON. Names are those of
    `pagewalk sweep --columns`.
    """
    row: Row = {}
    for key, value in run.items():
        name = f"{prefix}{key}"
        if name == _SETTINGS and isinstance(value, Mapping):
            row[name] = None  # its place, also where it is empty
            row.update((f"{_SETTINGS}.{setting}", _cell(value[setting])) for setting in value)
        elif isinstance(value, Mapping):
            row.update(flat(value, f"{name}."))
        elif not isinstance(value, list):
            row[name] = value
    return row


def _cell(value: Any) -> Any:
    """Return the value of a setting in a cell."""
    if isinstance(value, (Mapping, list)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def rows(runs: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return a row for each run. All have the same columns, in the order of a run's keys, and settings by the alphabet; None stands where a run has no value."""
    found = [flat(run) for run in runs]
    ranks: dict[str, int] = {}
    groups = {_SETTINGS}
    for row in found:
        for name in row:
            # What is null in one run can be a group of keys in another, whose keys have its place.
            groups.update(_groups(name))
            for known in (*_groups(name), name):
                ranks.setdefault(known, len(ranks))

    def place(name: str) -> tuple[list[int], str]:
        outer = [ranks[group] for group in _groups(name)]
        return (outer, name) if _is_setting(name) else ([*outer, ranks[name]], "")

    names = sorted((name for name in ranks if name not in groups), key=place)
    return [{name: row.get(name) for name in names} for row in found]


def _is_setting(name: str) -> bool:
    return name.startswith(f"{_SETTINGS}.")


def _groups(name: str) -> list[str]:
    """Return the groups of keys that a column is in, the outermost first."""
    if _is_setting(name):
        return [_SETTINGS]
    parts = name.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


class Table:
    """Something with runs that data frames are made of."""

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The runs, as JSON has them; docs/json-keys.md has their keys."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame of pandas with a row for each run."""
        import pandas

        return pandas.DataFrame(rows(self.runs))

    def to_polars(self) -> polars.DataFrame:
        """Return a data frame of Polars with a row for each run."""
        import polars

        return polars.DataFrame(rows(self.runs), infer_schema_length=None)

    def __len__(self) -> int:
        return len(self.runs)
