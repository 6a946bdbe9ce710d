"""What names stand for in a piece of source: the context, its checkpoint, a tracked iterable, a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

__all__ = [
    "Definition",
    "FunctionNode",
    "Role",
    "Scope",
    "body_scope",
    "is_lazy",
    "module_scope",
    "own",
    "plain_name",
    "role_of",
]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_PACKAGE = "chongming_task"


class Role(Enum):
    """What a name or an expression stands for, as far as it matters here."""

    PACKAGE = auto()  # chongming_task itself
    TQDM = auto()  # the module chongming_task.tqdm
    TASK = auto()  # the decorator
    CURRENT = auto()  # current_context
    CONTEXT = auto()  # a TaskContext
    CHECK = auto()  # to call it is a checkpoint
    TRACK = auto()  # to call it makes something tracked
    TRACKED = auto()  # every step of going through it is a checkpoint


_MEMBERS = {
    (Role.PACKAGE, "task"): Role.TASK,
    (Role.PACKAGE, "current_context"): Role.CURRENT,
    (Role.PACKAGE, "tqdm"): Role.TQDM,
    (Role.TQDM, "tqdm"): Role.TRACK,
    (Role.TQDM, "trange"): Role.TRACK,
    (Role.CONTEXT, "checkpoint"): Role.CHECK,
    (Role.CONTEXT, "acheckpoint"): Role.CHECK,
    (Role.CONTEXT, "sleep"): Role.CHECK,
    (Role.CONTEXT, "asleep"): Role.CHECK,
    (Role.CONTEXT, "track"): Role.TRACK,
    (Role.CONTEXT, "atrack"): Role.TRACK,
    (Role.TRACKED, "update"): Role.CHECK,  # of a bar
}
_CALLED = {Role.CURRENT: Role.CONTEXT, Role.TRACK: Role.TRACKED}
_IMPORTED = {"task": Role.TASK, "current_context": Role.CURRENT, "tqdm": Role.TQDM, "trange": Role.TRACK}
_LAZY = frozenset(
    "batched chain chain.from_iterable enumerate filter filterfalse islice iter map pairwise starmap takewhile "  # noqa: SIM905
    "dropwhile zip zip_longest".split()
)


class Scope(NamedTuple):
    """What names mean in one body of code."""

    roles: dict[str, Role]  # by dotted name
    functions: dict[str, Definition]  # those whose source is here


class Definition(NamedTuple):
    """A function whose source is here, and what the names around it mean."""

    node: FunctionNode
    outer: Scope


# scopes


def module_scope(module: ast.Module) -> Scope:
    """What the names of a module mean.

    ``task`` and ``current_context`` are taken for ours where nothing else defines them, as in a notebook's later cells.
    """
    scope = Scope({}, {})
    _bind(module.body, scope)
    bound = {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= scope.functions.keys() | set(_imported_names(module))
    for name in ("task", "current_context"):
        if name not in bound:
            scope.roles[name] = _IMPORTED[name]
    return scope


def body_scope(definition: Definition, arguments: Mapping[str, Role] | None = None) -> Scope:
    """What names mean in a function's body.

    Args:
        definition: The function.
        arguments: The roles of parameters; default: a context where one is called ``ctx`` or annotated so.
    """
    parameters = _parameters(definition.node.args)
    names = {each.arg for each in parameters}
    outer = definition.outer
    roles = {name: role for name, role in outer.roles.items() if name.partition(".")[0] not in names}
    for index, each in enumerate(parameters):
        if _is_context(each) or (arguments is None and index == 0 and each.arg == "ctx"):
            roles[each.arg] = Role.CONTEXT
    roles.update(arguments or {})
    scope = Scope(roles, {name: found for name, found in outer.functions.items() if name not in names})
    _bind(definition.node.body, scope)
    return scope


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and all below them, without entering functions and classes that are only defined there."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _NESTED):
            pending.extend(ast.iter_child_nodes(node))


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _is_context(parameter: ast.arg) -> bool:
    hint = parameter.annotation
    if isinstance(hint, ast.Constant):
        return isinstance(hint.value, str) and hint.value.endswith("TaskContext")
    return (_dotted(hint) or "").endswith("TaskContext")


def _bind(body: Sequence[ast.stmt], scope: Scope) -> None:
    """Add what a body defines, imports and assigns. The order of assignments is not looked at: any of them counts."""
    nodes = list(own(body))
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope.functions[node.name] = Definition(node, scope)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            scope.roles.update(_roles_imported(node))
    assigned = [pair for node in nodes for pair in _assignments(node)]
    changed = True
    while changed:  # an alias of an alias; every round adds a name, so it ends
        changed = False
        for target, value in assigned:
            name = _dotted(target)
            if name is not None and name not in scope.roles and (role := role_of(value, scope)) is not None:
                scope.roles[name] = role
                changed = True


def _roles_imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Role]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] == _PACKAGE and alias.asname is None:
                yield _PACKAGE, Role.PACKAGE
            elif alias.name == _PACKAGE:
                yield alias.asname or _PACKAGE, Role.PACKAGE
            elif alias.name == f"{_PACKAGE}.tqdm" and alias.asname:
                yield alias.asname, Role.TQDM
        return
    if node.level or (node.module or "").partition(".")[0] != _PACKAGE:
        return
    for alias in node.names:
        if alias.name == "*":
            yield from (("task", Role.TASK), ("current_context", Role.CURRENT))
        elif alias.name in _IMPORTED:
            bar = alias.name == "tqdm" and node.module == f"{_PACKAGE}.tqdm"
            yield alias.asname or alias.name, Role.TRACK if bar else _IMPORTED[alias.name]


def _imported_names(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned to what: also by ``:=`` and ``with ... as``, and one by one in tuples."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


# roles


def _dotted(node: ast.AST | None) -> str | None:
    """``a.b.c`` as text; None for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(names)])


def role_of(node: ast.expr, scope: Scope) -> Role | None:
    """What an expression stands for; None for nothing that matters."""
    name = _dotted(node)
    if name is not None and name in scope.roles:
        return scope.roles[name]
    match node:
        case ast.Attribute(value=value, attr=attr):
            owner = role_of(value, scope)
            return None if owner is None else _MEMBERS.get((owner, attr))
        case ast.Call():
            return _role_of_call(node, scope)
        case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
            return role_of(value, scope)
        case ast.IfExp(body=body, orelse=orelse):
            return role_of(body, scope) or role_of(orelse, scope)
        case ast.BoolOp(values=values):
            return next((role for each in values if (role := role_of(each, scope))), None)
        case ast.GeneratorExp(generators=[first, *_]):
            return Role.TRACKED if role_of(first.iter, scope) is Role.TRACKED else None
        case ast.Lambda(body=body):
            calls = (each for each in own([body]) if isinstance(each, ast.Call))
            return Role.CHECK if any(role_of(each.func, scope) is Role.CHECK for each in calls) else None
    return None


def _role_of_call(call: ast.Call, scope: Scope) -> Role | None:
    made = role_of(call.func, scope)
    if made is not None:
        return _CALLED.get(made)
    if plain_name(call.func) == "partial" and call.args:
        return role_of(call.args[0], scope)
    if is_lazy(call) and any(role_of(each, scope) is Role.TRACKED for each in call.args):
        return Role.TRACKED
    return None


def plain_name(function: ast.expr) -> str:
    """The name something is called by, without the standard module it may come from."""
    name = _dotted(function) or ""
    return name.removeprefix("itertools.").removeprefix("functools.")


def is_lazy(call: ast.Call) -> bool:
    """Whether it goes through what it is given one by one, as it is gone through itself."""
    return plain_name(call.func) in _LAZY
