"""The tables of columns in ``docs/history.md``, written from the code.

python -m tests.support.history_page        rewrites them
"""

from __future__ import annotations

from pathlib import Path

from chongming_task.history.columns import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "history.md"
HEAD = "## The columns\n"
_TITLES = {
    "tasks": "`tasks()`, `handle.frame()`, `run.frame()`, `snapshots_to_frame()`",
    "durations": "`durations(by)`: what it was grouped by, then",
}


def tables() -> str:
    """All of them, in Markdown."""
    parts = []
    for name, columns in TABLES.items():
        parts.append(f"### {_TITLES.get(name, f'`{name}()`')}\n\n| column | dtype | meaning |\n| --- | --- | --- |\n")
        parts += [f"| `{column.name}` | {column.dtype} | {column.meaning} |\n" for column in columns]
        parts.append("\n")
    return "".join(parts).rstrip() + "\n"


def written(page: str) -> str:
    """The page with these tables at its end."""
    before, head, after = page.partition(HEAD)
    assert head, f"{PAGE} has lost its heading {HEAD!r}"
    introduction = after.strip("\n").partition("\n\n")[0]
    return f"{before}{head}\n{introduction}\n\n{tables()}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
