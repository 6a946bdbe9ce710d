"""What pages show runs as it is written: see `tests/support/page_blocks.py` for how."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.page_blocks import ROOT, Block, blocks_of, files_among, page_says, pages, shell_script

LANGUAGES = {"", "bash", "python", "console", "text", "json", "ts"}
FOLDERS = [page for page in pages() if page_says(page, "one folder")]
ALONE = [
    (page, number)
    for page in pages()
    if page not in FOLDERS and not page_says(page, "one notebook")  # those: tests/docs/test_tutorial.py
    for number, block in enumerate(blocks_of(page))
    if block.runs
]


def name_of(value: object) -> str:
    """Of a page or a block, for the test's name."""
    return value.relative_to(ROOT).as_posix() if isinstance(value, Path) else str(value)


def run_in_shell(blocks: list[Block], folder: Path) -> None:
    """Runs blocks in a shell that finds this interpreter and the command line of this environment first."""
    found_first = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", shell_script(files_among(blocks, folder))],
        cwd=folder,
        env={**os.environ, "PATH": found_first},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("page", "number"), ALONE, ids=name_of)
def test_a_block_runs_by_itself(page, number, tmp_path):
    """In an empty folder."""
    run_in_shell([blocks_of(page)[number]], tmp_path)


@pytest.mark.parametrize("page", FOLDERS, ids=name_of)
def test_a_page_can_be_followed_in_a_shell(page, tmp_path):
    """From top to bottom, in one folder."""
    run_in_shell([block for block in blocks_of(page) if block.runs], tmp_path)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_blocks_say_what_they_are(page):
    """A block without a language would be run by nobody."""
    assert [block.code for block in blocks_of(page) if block.language not in LANGUAGES] == []


def test_few_blocks_do_not_run():
    """Each of them says why; most do run."""
    code = [block for page in pages() for block in blocks_of(page) if block.language in ("bash", "console", "python")]
    idle = [block for block in code if not block.runs]
    assert len(idle) <= len(code) / 8


def test_a_block_that_fails_is_told(tmp_path):
    """In each way that it can be run."""
    for block in (Block("python", "raise SystemExit(3)\n"), Block("console", "$ true\nsome output\n$ false\n")):
        with pytest.raises(AssertionError):
            run_in_shell([block], tmp_path)
