"""The code that pages show, and how it is run.

A Python block stands for itself: it runs in an empty folder. What a page says of itself in a comment changes that:

    <!-- one folder -->      its blocks run one after the other in one folder, and one shell
    <!-- one notebook -->    its Python blocks are the cells of one notebook
    <!-- not run: why -->    the block that follows does not run

A block with a ``title="name.py"`` is a file of that name. In console blocks the lines with a ``$`` are run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Block", "blocks_of", "files_among", "page_says", "pages", "shell_script"]

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>.+?) -->\n+)?"
    r"^ *```(?P<language>\w*)(?P<options>[^\n]*)\n(?P<code>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    language: str
    code: str
    title: str | None = None  # the file it is
    not_run: str | None = None  # why

    @property
    def runs(self) -> bool:
        """Whether it is code that is run."""
        return self.language in ("python", "console", "bash") and self.not_run is None


def pages() -> list[Path]:
    """Every page that people read."""
    return [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").rglob("*.md"))]


def page_says(page: Path, words: str) -> bool:
    """Whether a page says of itself how its blocks are run."""
    return f"<!-- {words} -->" in page.read_text(encoding="utf-8")


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, first to last."""
    return [
        Block(found["language"], found["code"], _title(found["options"]), found["why"])
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def _title(options: str) -> str | None:
    found = re.search(r'title="(.+?)"', options)
    return None if found is None else found[1]


def files_among(blocks: list[Block], folder: Path) -> list[Block]:
    """Write the blocks that are files; the others come back."""
    for block in blocks:
        if block.title is not None:
            (folder / block.title).write_text(block.code, encoding="utf-8")
    return [block for block in blocks if block.title is None]


def shell_script(blocks: list[Block]) -> str:
    """The blocks as what a shell reads; it ends at the first that fails."""
    return "set -euo pipefail\n" + "".join(_for_shell(block) for block in blocks)


def _for_shell(block: Block) -> str:
    if block.language == "python":
        return f"python - <<'_END_OF_BLOCK_'\n{block.code}_END_OF_BLOCK_\n"
    if block.language == "bash":
        return block.code
    commands = re.findall(r"^\$ (.*(?:\\\n.*)*)$", block.code, re.MULTILINE)
    return "".join(f"{command}\n" for command in commands)
