"""What a task costs beside other tools: each in an environment of its own, taking turns, in one run.

make peers                                  measure, and write docs/figures-beside-peers.md: some minutes
ROUNDS=5 make peers                         more rounds in each of the two passes, instead of 3
make peers ARGS=--page                      write the page anew, from what was measured last
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, FOLDER, Contender
from page import Round, page

ROUNDS = int(os.environ.get("ROUNDS", "3"))
PASSES = 2
FIGURES = FOLDER / "figures.json"
PAGE = Path(__file__).parents[3] / "docs" / "figures-beside-peers.md"


def measure(contender: Contender) -> dict[str, Any]:
    """Run its script; the last line that it prints has the figures.

    Raises:
        RuntimeError: When it fails, with what it said.
    """
    command = [contender.python, Path(__file__).with_name(contender.script), contender.argument]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a server may still be ending
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{contender.name} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def one_round(label: str) -> Round:
    """Everybody once, and before each of them what all are compared with: its own figures jump between two sizes."""
    bare, *others = CONTENDERS
    base, found = [], {}
    for contender in others:
        print(f"{label}: {contender.name}", file=sys.stderr, flush=True)
        base.append(measure(bare))
        found[contender.name] = measure(contender)
    return {bare.name: {name: statistics.median(each[name] for each in base) for name in base[0]}, **found}


def measured() -> dict[str, Any]:
    """What the page is made of: all rounds, and the versions."""
    for contender in CONTENDERS:
        contender.make()
    versions = list(dict.fromkeys(contender.version() for contender in CONTENDERS if contender.package))
    passes = [[one_round(f"pass {number + 1}, round {turn + 1}") for turn in range(ROUNDS)] for number in range(PASSES)]
    return {"passes": passes, "versions": versions}


def main(arguments: list[str]) -> None:
    """Measure, keep the figures, write the page."""
    if "--page" not in arguments:
        FIGURES.write_text(json.dumps(measured()), encoding="utf-8")
    PAGE.write_text(page(**json.loads(FIGURES.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"{PAGE.relative_to(PAGE.parents[1])} is written", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
