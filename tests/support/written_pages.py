"""What pages take from the code: what stands between ``<!-- from the code: NAME -->`` and ``<!-- end -->``; pictures.

python -m tests.support.written_pages        rewrites them
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support import page_reference, page_states, page_tables, page_wire

__all__ = ["DOCS", "PARTS", "PICTURES", "pages", "written"]

DOCS = Path(__file__).parents[2] / "docs"
PARTS: Mapping[str, Callable[[], str]] = {
    "columns": page_tables.columns,
    "command line": page_reference.command_line,
    "errors": page_reference.errors,
    "events": page_reference.events,
    "situations": page_reference.situations,
    "statuses": page_states.statuses,
    "transitions": page_states.transitions,
    "verbs": page_states.verbs,
    "view limits": page_reference.view_limits,
    "wire details": page_wire.details,
    "wire from a view": page_wire.from_view,
    "wire from the kernel": page_wire.from_kernel,
    "wire row": page_reference.wire_row,
}
PICTURES: Mapping[Path, Callable[[], str]] = {DOCS / "images" / "states.svg": page_states.picture}
_PART = re.compile(r"<!-- from the code: (.+?) -->\n.*?<!-- end -->", re.DOTALL)


def written(page: str) -> str:
    """A page with these parts as the code has them now.

    Raises:
        KeyError: For a part of a name that does not exist.
    """
    return _PART.sub(lambda part: f"<!-- from the code: {part[1]} -->\n\n{PARTS[part[1]]()}\n<!-- end -->", page)


def pages() -> list[Path]:
    """The pages that hold such parts."""
    return [page for page in sorted(DOCS.rglob("*.md")) if _PART.search(page.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    for path in pages():
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
    for path, draw in PICTURES.items():
        path.write_text(draw(), encoding="utf-8")
