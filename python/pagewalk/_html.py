"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(caption: str, heads: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """Return a table as HTML: the first column is text, and others are numbers."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:{"right" if column else "left"}">{escape(cell)}</td>' for column, cell in enumerate(row))
        + "</tr>"
        for row in cells
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def percent(value: float | None) -> str:
    """Return an overhead as a percentage; "-" where there is none."""
    return "-" if value is None else f"{100 * value:+.1f} %"


def grouped(value: float | None) -> str:
    """Return a count with thin spaces between groups of three digits; "-" where there is none."""
    return "-" if value is None else f"{value:,.0f}".replace(",", "\u202f")
