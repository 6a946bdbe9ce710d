"""The page of the figures: what was measured, as ratios, and only where two passes agree."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import textwrap
from collections.abc import Mapping, Sequence

from contenders import BASE, TABLES, Row, Table

__all__ = ["Round", "page", "ratio"]

Round = Mapping[str, Mapping[str, float | str]]  # contender → measure → seconds, or words
STEADY = 1.5  # two passes agree when the larger median is at most so many times the smaller

_HEAD = """# Figures beside other tools

What a task costs here, and in tools that people choose instead: the same work, on one machine, in one run. `make peers`
installs each of them into an environment of its own, measures, and writes this page.

Read the ratios as sizes, not as ranks. The tools promise different things, and the sentence in each row says what is
and what is not comparable. Each is used as its documentation says, with eight slots and otherwise its default settings.
A task that does nothing is the worst case for all of them: as soon as a task takes a second, most of these differences
are gone.

- Contenders take turns, in two passes; rounds in each: {rounds}. Of each pass the median counts, divided by the median
  of the standard library's figures in the whole run.
- A range is what the two passes gave. Where one is more than {steady} times the other, no figure is given but
  "unsteady".
- {versions}.
- Python {python}, SQLite {sqlite}, {cores} cores.
"""

_TAIL = """
## Not measured

**Prefect, a stop.** It cancels runs of deployments, by ending their process from a second one that watches; a run that
was started by calling the flow, as above, is not stopped.

**huey, a graph.** It has chains and groups, no graphs.

**What is not a matter of time:** pause, retry of one task, a live panel, what is left after a crash. A ratio says
nothing about them.
"""


def page(passes: Sequence[Sequence[Round]], versions: Sequence[str]) -> str:
    """The whole page.

    Args:
        passes: The rounds of every pass.
        versions: What was measured, as name and version.
    """
    head = _HEAD.format(
        rounds=len(passes[0]),
        steady=STEADY,
        versions=", ".join(versions),
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        cores=os.cpu_count(),
    )
    return head + "".join(_table(table, passes) for table in TABLES) + _TAIL


def _table(table: Table, passes: Sequence[Sequence[Round]]) -> str:
    lines = [f"\n## {table.title}\n", f"{textwrap.fill(table.text, 120)}\n"]
    lines.append(f"| | {' | '.join(table.columns)} | what to know |")
    lines.append(f"| --- | {'---: | ' * len(table.columns)}--- |")
    lines += [
        f"| {row.title} | {' | '.join(_cells(table, row, passes))} | {row.note} |"
        for row in table.rows
        if all(row.contender in each for rounds in passes for each in rounds)
    ]
    return "\n".join(lines) + "\n"


def _cells(table: Table, row: Row, passes: Sequence[Sequence[Round]]) -> list[str]:
    if row.contender == BASE:
        return ["1"] * len(table.columns)
    return [
        _cell([[each[row.contender][own] for each in rounds] for rounds in passes], _base(base, passes))
        for own, base in zip(row.measures or table.measures, table.measures, strict=True)
    ]


def _base(measure: str, passes: Sequence[Sequence[Round]]) -> float:
    return statistics.median(float(each[BASE][measure]) for rounds in passes for each in rounds)


def _cell(passes: list[list[float | str]], base: float) -> str:
    words = {each for rounds in passes for each in rounds if isinstance(each, str)}
    if words:
        return "**" + ", ".join(sorted(words)) + "**"
    return ratio([statistics.median(map(float, rounds)) / base for rounds in passes])


def ratio(medians: Sequence[float]) -> str:
    """The medians of the passes as a range of two digits each; "unsteady" when they do not agree."""
    low, high = min(medians), max(medians)
    if high > low * STEADY:
        return "unsteady"
    small, large = _two_digits(low), _two_digits(high)
    return f"{small} ×" if small == large else f"{small} – {large} ×"


def _two_digits(value: float) -> str:
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:.2g}" if rounded != 1 else "1"
