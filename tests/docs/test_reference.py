"""The reference has every public name, each once."""

from __future__ import annotations

import re
from collections import Counter

import chongming_task
from chongming_task import checkpoint_lint, history, testing
from tests.support.docstrings import VIEWS
from tests.support.page_blocks import ROOT

PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
SHOWN = Counter(
    name for page in PAGES for name in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
)


def test_every_public_name_has_its_place():
    """Those of the package, of its public modules, and the views."""
    wanted = {f"chongming_task.{name}" for name in chongming_task.__all__ if name != "__version__"}
    wanted |= {f"{module.__name__}.{name}" for module in (history, testing) for name in module.__all__}
    wanted |= {f"chongming_task.notebook.{view}" for view in VIEWS}
    assert wanted - set(SHOWN) == set()


def test_no_name_is_shown_twice():
    """Links would lead to one of them, at random."""
    assert [name for name, times in SHOWN.items() if times > 1] == []


def test_members_that_are_listed_by_hand_are_all_there():
    """Of a module whose members a page lists."""
    page = (ROOT / "docs" / "reference" / "tasks.md").read_text(encoding="utf-8")
    listed = re.search(r"^::: chongming_task\.checkpoint_lint\n.*members: \[(.*?)\]", page, re.MULTILINE)
    assert listed is not None
    assert sorted(listed[1].split(", ")) == sorted(checkpoint_lint.__all__)
