"""Finds loops in tasks that never reach a checkpoint: such a task can be neither paused nor stopped while they run.

Reads source, runs nothing. A loop reaches a checkpoint when something in its body, or what it goes through, is

- ``ctx.checkpoint()``, ``ctx.sleep()``, their awaited likes, or ``current_context().checkpoint()``,
- ``ctx.track(...)``, ``ctx.atrack(...)`` or a bar of :mod:`chongming_task.tqdm`, also in ``enumerate`` and its like,
- an alias of these (``check = ctx.checkpoint``),
- a call of a function of the same module that reaches one, or that is handed the context and reaches one with it,
- a call of any other function that is handed the context: what is in it cannot be seen, and it is given the credit.

Loops that cannot take long are no findings:

- those that run at most 1000 times, by a literal or ``range`` of constants, inner ones multiplied, and call nothing but
  quick builtins and methods such as ``append``;
- those inside another loop that call nothing else either, such as a sum over the cells of a row;
- those that leave at the end of their first pass;
- those whose line says ``# no-checkpoint``, for whoever knows better.

Comprehensions are not looked at. A function is a task when ``@task`` stands on it, when its first parameter is
annotated TaskContext, or when that is called ``ctx`` in a module that imports this package.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from chongming_task.api.checkpoint_reach import reaches
from chongming_task.api.checkpoint_scope import Definition, Role, Scope, body_scope, module_scope, own, role_of

__all__ = ["CheckpointWarning", "Finding", "format_findings", "lint_function", "lint_source", "warn_of_loops"]

Loop = ast.For | ast.AsyncFor | ast.While
_SHORT = 1_000  # passes
_SHOWN = 60  # characters of a loop in a message
_SILENCE = "# no-checkpoint"
_QUICK_FUNCTIONS = frozenset(
    "abs bool bytes chr dict divmod enumerate float hash id int isinstance len list max min ord print range repr "  # noqa: SIM905
    "reversed round set str tuple zip".split()
)
_QUICK_METHODS = frozenset(
    "add append appendleft endswith extend format insert items join keys lower lstrip popleft "  # noqa: SIM905
    "rstrip setdefault split startswith strip upper values".split()
)


class CheckpointWarning(UserWarning):
    """A task with ``strict=True`` has a loop that never reaches a checkpoint.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", CheckpointWarning)  # a strict task that cannot be stopped is a mistake here
    """


class Finding(NamedTuple):
    """One loop that never reaches a checkpoint.

    Example:
        >>> def load(ctx, urls):
        ...     for url in urls:
        ...         fetch(url)
        >>> [(finding.line, finding.function) for finding in lint_function(load)]
        [(2, 'load')]
    """

    path: str
    line: int
    function: str  # as in a traceback: "outer.<locals>.inner"
    loop: str  # its first line, shortened
    message: str  # what is wrong and what to write


def lint_source(text: str, filename: str = "<source>") -> list[Finding]:
    """The loops of a source text's tasks that never reach a checkpoint, in order.

    Source that is no Python is one finding, so that whoever looks at many files learns of it and goes on.

    Args:
        text: The source of a module, or of a notebook's cell.
        filename: What findings call it.

    Example:
        >>> from chongming_task.checkpoint_lint import lint_source
        >>> source = '''
        ... from chongming_task import task
        ... @task
        ... def load(ctx, rows):
        ...     for row in rows:
        ...         row.save()
        ... '''
        >>> [(each.line, each.function, each.loop) for each in lint_source(source)]
        [(5, 'load', 'for row in rows')]
    """
    try:
        source = _read(text, filename)
        found = [each for task in _tasks(source) for each in _findings_in(source, task)]
    except (SyntaxError, ValueError) as wrong:  # ValueError: NUL bytes
        return [Finding(filename, getattr(wrong, "lineno", None) or 1, "", "", f"this is no valid Python: {wrong}")]
    except (RecursionError, MemoryError):
        return [Finding(filename, 1, "", "", "this is nested too deeply to be looked at")]
    return sorted(found, key=lambda each: each.line)


def lint_function(function: Callable[..., Any]) -> list[Finding]:
    """The loops of one function that never reach a checkpoint, whether it is marked as a task or not.

    Args:
        function: A task or a plain function. One whose source cannot be had, or has changed since it was read, has no
            findings.

    Example:
        >>> def load(ctx, urls):
        ...     for url in ctx.track(urls):
        ...         print(url)
        >>> lint_function(load)
        []
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return []
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, inspect.unwrap(function).__globals__))
    try:
        source = _read(text, code.co_filename)
        for each in _functions(source):
            if _first_line(each.definition.node) == code.co_firstlineno and each.definition.node.name == code.co_name:
                return sorted(_findings_in(source, each), key=lambda found: found.line)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # it runs, so the fault is in what we look at
        return []
    return []


def warn_of_loops(function: Callable[..., Any]) -> None:
    """Warn, at the line of each loop of a function that never reaches a checkpoint: ``@task(strict=True)``."""
    for each in lint_function(function):
        warnings.warn_explicit(f"{each.path}:{each.line}: {each.message}", CheckpointWarning, each.path, each.line)


def format_findings(findings: Iterable[Finding]) -> str:
    """Findings as text, a line each, as compilers write them: ``path:line: message``.

    Args:
        findings: What was found.

    Example:
        >>> format_findings([])
        ''
    """
    return "\n".join(f"{each.path}:{each.line}: {each.message}" for each in findings)


# what is looked at


class _Source(NamedTuple):
    """A parsed source."""

    path: str
    lines: list[str]
    module: ast.Module
    scope: Scope
    uses_package: bool  # it imports chongming_task


class _Function(NamedTuple):
    """A function in it."""

    name: str  # qualified
    definition: Definition


@lru_cache(maxsize=4)  # the tasks of a module are decorated one after the other
def _read(text: str, filename: str) -> _Source:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its string escapes: not what was asked
        module = ast.parse(text, filename)
    scope = module_scope(module)
    return _Source(filename, text.splitlines(), module, scope, _imports_package(module))


def _imports_package(module: ast.Module) -> bool:
    for node in ast.walk(module):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        if any(name.partition(".")[0] == "chongming_task" for name in names):
            return True
    return False


def _functions(source: _Source) -> Iterator[_Function]:
    """Every function of it, those around others first."""
    pending: list[tuple[str, Sequence[ast.stmt], Scope]] = [("", source.module.body, source.scope)]
    while pending:
        prefix, body, scope = pending.pop()
        for node in own(body):
            if isinstance(node, ast.ClassDef):
                pending.append((f"{prefix}{node.name}.", node.body, scope))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found = _Function(f"{prefix}{node.name}", Definition(node, scope))
                yield found
                pending.append((f"{found.name}.<locals>.", node.body, body_scope(found.definition)))


def _tasks(source: _Source) -> Iterator[_Function]:
    """The tasks of it, but for those defined in another: they are looked at with that."""
    inside: list[str] = []
    for each in _functions(source):
        if not each.name.startswith(tuple(inside)) and _is_task(each.definition, source):
            inside.append(f"{each.name}.<locals>.")
            yield each


def _is_task(definition: Definition, source: _Source) -> bool:
    node = definition.node
    for decorator in node.decorator_list:
        marked = decorator.func if isinstance(decorator, ast.Call) else decorator
        if role_of(marked, definition.outer) is Role.TASK:
            return True
    first = [*node.args.posonlyargs, *node.args.args][:1]
    if not first or body_scope(definition).roles.get(first[0].arg) is not Role.CONTEXT:
        return False
    return first[0].annotation is not None or source.uses_package


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


# findings


def _findings_in(source: _Source, function: _Function) -> Iterator[Finding]:
    """Those of a function, and of the functions that are defined in it."""
    pending = [function]
    while pending:
        name, definition = pending.pop()
        scope = body_scope(definition)
        pending += (
            _Function(f"{name}.<locals>.{node.name}", Definition(node, scope))
            for node in own(definition.node.body)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        for loop, inner in _loops(definition.node.body):
            if not (_is_harmless(loop, inner, scope) or _is_silenced(loop, source) or _reaches(loop, scope)):
                yield _finding(source, name, loop, scope)


def _loops(body: Sequence[ast.stmt]) -> Iterator[tuple[Loop, bool]]:
    """The loops of a body, and whether each is inside another."""
    pending: list[tuple[Iterable[ast.AST], bool]] = [(body, False)]
    while pending:
        nodes, inner = pending.pop()
        for node in nodes:
            if isinstance(node, Loop):
                yield node, inner
                pending.append((ast.iter_child_nodes(node), True))
            elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
                pending.append((ast.iter_child_nodes(node), inner))


def _reaches(loop: Loop, scope: Scope) -> bool:
    if isinstance(loop, ast.While):
        return reaches([loop.test, *loop.body], scope)
    return reaches(loop.body, scope, iterated=loop.iter)


def _is_harmless(loop: Loop, inner: bool, scope: Scope) -> bool:
    """Whether it cannot take long."""
    if _leaves_at_once(loop):
        return True
    return not isinstance(loop, ast.While) and _is_quick(loop.body, scope) and (inner or _passes(loop) <= _SHORT)


def _leaves_at_once(loop: Loop) -> bool:
    goes_on = any(isinstance(node, ast.Continue) for node in own(loop.body))
    return isinstance(loop.body[-1], ast.Return | ast.Break | ast.Raise) and not goes_on


def _is_quick(body: Sequence[ast.stmt], scope: Scope) -> bool:
    """Whether nothing in it can take long, but perhaps many passes."""
    for node in own(body):
        if isinstance(
            node, ast.While | ast.AsyncFor | ast.Await | ast.Yield | ast.YieldFrom | ast.With | ast.AsyncWith
        ):
            return False
        if isinstance(node, ast.Call) and not _is_quick_call(node.func, scope):
            return False
    return True


def _is_quick_call(function: ast.expr, scope: Scope) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _QUICK_FUNCTIONS and function.id not in scope.functions
    if not isinstance(function, ast.Attribute):
        return False
    return function.attr in _QUICK_METHODS or role_of(function.value, scope) is Role.CONTEXT


def _passes(loop: ast.For | ast.AsyncFor) -> float:
    """How often its innermost body runs; infinity when that cannot be seen."""
    inner = [_passes(node) for node in own(loop.body) if isinstance(node, ast.For)]
    return _length(loop.iter) * max([1.0, *inner])


def _length(node: ast.expr) -> float:
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
            return math.inf if any(isinstance(each, ast.Starred) for each in elts) else len(elts)
        case ast.Dict(keys=keys):
            return math.inf if None in keys else len(keys)
        case ast.Constant(value=str() | bytes() as value):
            return len(value)
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            return _length_of_range(args)
        case ast.Call(func=ast.Name(id="enumerate" | "reversed" | "sorted" | "list" | "tuple"), args=[first, *_]):
            return _length(first)
        case ast.Call(func=ast.Attribute(value=ast.Dict() as literal, attr="items" | "keys" | "values"), args=[]):
            return _length(literal)
        case ast.Call(func=ast.Name(id="zip"), args=[first, *rest]):
            return min(_length(each) for each in (first, *rest))
    return math.inf


def _length_of_range(arguments: Sequence[ast.expr]) -> float:
    try:
        numbers = [ast.literal_eval(each) for each in arguments]
        return len(range(*numbers))
    except (ValueError, TypeError, OverflowError):  # no constants, not whole, or more than can be counted
        return math.inf


def _is_silenced(loop: Loop, source: _Source) -> bool:
    return any(_SILENCE in line for line in source.lines[loop.lineno - 1 : loop.body[0].lineno])


def _finding(source: _Source, function: str, loop: Loop, scope: Scope) -> Finding:
    if isinstance(loop, ast.While):
        shown = f"while {ast.unparse(loop.test)}"
    else:
        target, steps = ast.unparse(loop.target), ast.unparse(loop.iter)
        target = target[1:-1] if isinstance(loop.target, ast.Tuple) else target
        shown = f"{'async ' if isinstance(loop, ast.AsyncFor) else ''}for {target} in {steps}"
    shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
    message = (
        f"the loop `{shown}` in {function} reaches no checkpoint, so the task can be neither paused nor stopped while "
        f"it runs; {_remedy(loop, scope)}"
    )
    return Finding(source.path, loop.lineno, function, shown, message)


def _remedy(loop: Loop, scope: Scope) -> str:
    context = next((name for name, role in scope.roles.items() if role is Role.CONTEXT), None)
    if context is None:
        return (
            "give the function a first parameter ctx and call ctx.checkpoint() in it, or current_context().checkpoint()"
        )
    if isinstance(loop, ast.AsyncFor):
        return f"go through {context}.atrack(...) instead, or await {context}.acheckpoint() in it"
    if isinstance(loop, ast.For):
        return f"go through {context}.track(...) instead, or call {context}.checkpoint() in it"
    return f"call {context}.checkpoint() in it"
