"""A cell as code: `notebook/cell_code.py`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chongming_task.notebook.cell_code import ACHECKPOINT, CHECKPOINT, VALUE, compile_cell, title_of


def run(source: str) -> tuple[dict[str, Any], int]:
    """What the cell leaves, and how many checkpoints it passed."""
    passed = 0

    def checkpoint() -> None:
        nonlocal passed
        passed += 1

    async def acheckpoint() -> None:
        checkpoint()

    names: dict[str, Any] = {CHECKPOINT: checkpoint, ACHECKPOINT: acheckpoint}
    cell = compile_cell(source, "<cell>")
    running = eval(cell.code, names)
    if cell.awaits:
        asyncio.run(running)
    return names, passed


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 1", 2),
        ("x = 3\nx\n# said\n", 3),
        ("x = 3\nx;", None),
        ("x = 3\nx;  # quiet", None),
        ("x = ';'\nx", ";"),
        ("x = 3", None),
        ("# nothing", None),
        ("import asyncio\nawait asyncio.sleep(0, 5)", 5),
        ("for x in (1, 2):\n    x", None),
    ],
)
def test_the_value_is_that_of_the_last_expression(source, value):
    """As under any cell: not of an assignment, and not before a semicolon."""
    assert run(source)[0].get(VALUE) == value


@pytest.mark.parametrize(
    ("source", "passed"),
    [
        ("a = 1", 0),
        ("a = 1\nb = 2\nc = 3", 2),
        ("for i in range(5):\n    pass", 5),
        ("i = 0\nwhile i < 3:\n    i += 1", 1 + 3),
        (
            "if True:\n    for i in range(2):\n        for j in range(3):\n            pass",
            8,
        ),
        (
            "try:\n    for i in range(2): 1 / 0\nexcept ZeroDivisionError:\n    for i in range(4): pass",
            1 + 4,
        ),
        ("def f():\n    for i in range(9):\n        pass\nf()", 1),
        ("class A:\n    for i in range(9):\n        pass", 0),
        ("[i for i in range(9)]", 0),
        ('"""Said."""\nfrom __future__ import annotations\na = 1', 1),
        ("import asyncio\nasync def some():\n    yield 1\n    yield 2\nasync for i in some():\n    pass", 2 + 2),
    ],
)
def test_checkpoints_stand_between_statements_and_in_loops(source, passed):
    """In those of the cell itself; what it defines is left alone."""
    assert run(source)[1] == passed


def test_lines_are_those_of_the_source():
    """The checkpoints move nothing."""
    with pytest.raises(ZeroDivisionError) as caught:
        run("a = 1\n\nfor i in range(3):\n    b = 2\n    1 / 0\n")
    assert caught.tb is not None
    frame = caught.tb
    while frame.tb_next is not None:
        frame = frame.tb_next
    assert (frame.tb_frame.f_code.co_filename, frame.tb_lineno) == ("<cell>", 5)


@pytest.mark.parametrize(
    ("source", "line"), [("a = 1\nb = (", 2), ("return 5", 1), ("a = 1\nbreak", 2), ("\n\n1 +", 3)]
)
def test_a_syntax_error_is_told_before_anything_runs(source, line):
    """Also those that only the compiler finds."""
    with pytest.raises(SyntaxError) as caught:
        compile_cell(source, "<cell>")
    assert (caught.value.filename, caught.value.lineno) == ("<cell>", line)


def test_a_warning_of_the_compiler_is_told_once():
    """Though the cell is compiled more than once."""
    with pytest.warns(SyntaxWarning) as told:
        compile_cell("x = 1\nx is 1", "<cell>")
    assert [(each.filename, each.lineno) for each in told] == [("<cell>", 2)]


def test_futures_of_earlier_cells_count():
    """As they do for any cell; other flags of the shell's compiler do not."""
    import __future__

    flags = __future__.annotations.compiler_flag | 0x4000
    names: dict[str, Any] = {CHECKPOINT: lambda: None}
    exec(compile_cell("def f(x: unknown): pass\nf.__annotations__", "<cell>", flags).code, names)
    assert names[VALUE] == {"x": "unknown"}


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("model = fit(train)\nmodel", "In[3] model = fit(train)"),
        ("\n#  Fit the model\nx = 1", "In[3] Fit the model"),
        ("#\n#\nx = 1", "In[3] x = 1"),
        ("x" * 60, f"In[3] {'x' * 47}…"),
        ("", "In[3]"),
    ],
)
def test_a_cell_is_called_by_its_number_and_first_words(source, title):
    """So that a panel full of cells can be read."""
    assert title_of(source, 3) == title
