"""A notebook cell as code that can be paused, stopped and asked for its value. Pure: runs and remembers nothing.

Between any two statements of the cell itself, and at every turn of its loops, stands a checkpoint. So a cell that was
written without a thought of tasks can be paused and stopped there. Functions and classes that the cell defines are left
as they are.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import io
import tokenize
import warnings
from collections.abc import Callable
from types import CodeType
from typing import NamedTuple, TypeVar

__all__ = ["ACHECKPOINT", "CHECKPOINT", "VALUE", "CellCode", "compile_cell", "title_of"]

CHECKPOINT = "__chongming_checkpoint__"
ACHECKPOINT = "__chongming_acheckpoint__"
VALUE = "__chongming_value__"
"""Names the code uses: two functions it calls, and where it leaves the value of its last expression."""

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag

Node = TypeVar("Node", bound=ast.AST)


class CellCode(NamedTuple):
    """A compiled cell."""

    code: CodeType
    awaits: bool  # it has an await of its own: evaluating it gives a coroutine


def compile_cell(
    source: str, filename: str, flags: int = 0, transform: Callable[[ast.Module], ast.Module] | None = None
) -> CellCode:
    """Compiles the cell.

    Args:
        source: Python, without magics.
        filename: What tracebacks call it.
        flags: Of the compiler; those of ``from __future__ import ...`` count.
        transform: Changes the tree first, as IPython's extensions may wish to.

    Raises:
        SyntaxError: With the line of ``source``.
    """
    flags = (flags & _FUTURES) | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(source, filename, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    if transform is not None:
        tree = transform(tree)
    # The compiler alone knows everything that is a syntax error, and what makes a coroutine of it.
    plain = compile(tree, filename, "exec", flags, dont_inherit=True)
    awaits = bool(plain.co_flags & inspect.CO_COROUTINE)
    _keep_value(tree, quiet=_ends_with_semicolon(source))
    _Steerable(awaits).steer(tree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # told already
        return CellCode(compile(tree, filename, "exec", flags, dont_inherit=True), awaits)


def title_of(source: str, number: int, limit: int = 48) -> str:
    """What to call a cell that was given no name: its number, and its first comment or line.

    Args:
        source: The cell's text.
        number: Its execution count.
        limit: Characters; a longer line is cut with a mark.
    """
    first = next((line.strip() for line in source.splitlines() if line.strip(" #\t")), "")
    first = first.lstrip("# ") if first.startswith("#") else first
    return f"In[{number}] {first if len(first) <= limit else first[: limit - 1] + '…'}".rstrip()


def _keep_value(tree: ast.Module, *, quiet: bool) -> None:
    """Has the last statement, if it is an expression, leave its value."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not quiet:
        target = _like(last, ast.Name(VALUE, ast.Store()))
        tree.body[-1] = _like(last, ast.Assign([target], last.value))


def _ends_with_semicolon(source: str) -> bool:
    """As in any cell, a semicolon at the end says that the value is not wanted."""
    unseen = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    try:
        tokens = [each for each in tokenize.generate_tokens(io.StringIO(source).readline) if each.type not in unseen]
    except (tokenize.TokenError, SyntaxError):  # it has compiled: what the tokenizer cannot read does not end so
        return False
    return bool(tokens) and tokens[-1].string == ";"


class _Steerable:
    """Puts checkpoints into a cell's own statements.

    Args:
        awaits: Whether they are awaited.
    """

    def __init__(self, awaits: bool) -> None:
        self._awaits = awaits

    def steer(self, tree: ast.Module) -> None:
        """Between the statements, and into the loops."""
        body: list[ast.stmt] = []
        for statement in tree.body:
            self._into_loops(statement)
            if body and not _is_future_import(statement):
                body.append(self._checkpoint(statement))
            body.append(statement)
        tree.body = body

    def _into_loops(self, outermost: ast.stmt) -> None:
        pending: list[ast.AST] = [outermost]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
                continue  # what they hold is run by others, or is no statement
            if isinstance(node, ast.For | ast.AsyncFor | ast.While):
                node.body.insert(0, self._checkpoint(node.body[0]))
            pending += ast.iter_child_nodes(node)

    def _checkpoint(self, beside: ast.stmt) -> ast.stmt:
        name = _like(beside, ast.Name(ACHECKPOINT if self._awaits else CHECKPOINT, ast.Load()))
        call: ast.expr = _like(beside, ast.Call(name, [], []))
        return _like(beside, ast.Expr(_like(beside, ast.Await(call)) if self._awaits else call))


def _like(beside: ast.stmt, node: Node) -> Node:
    """``node``, said to stand where ``beside`` begins: a traceback through it shows that line."""
    return ast.copy_location(node, beside)


def _is_future_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
