"""Whether running a piece of source reaches a checkpoint. Looks, and runs nothing.

In doubt the answer is yes: who hands the context to a function from elsewhere has most likely done it for this.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from chongming_task.api.checkpoint_scope import (
    Definition,
    FunctionNode,
    Role,
    Scope,
    body_scope,
    is_lazy,
    own,
    plain_name,
    role_of,
)

__all__ = ["reaches"]

# Known not to reach a checkpoint, whatever they are given.
_HARMLESS = frozenset("bool dir getattr hasattr hash id isinstance len print repr setattr str type vars".split())  # noqa: SIM905
# What they are given is gone through before the loop begins.
_EAGER = frozenset(["dict", "frozenset", "list", "set", "sorted", "tuple"])


class _Visit(NamedTuple):
    """A function to look into, called with these roles as arguments."""

    definition: Definition
    arguments: Mapping[str, Role]


def reaches(nodes: Sequence[ast.AST], scope: Scope, iterated: ast.expr | None = None) -> bool:
    """Whether running the nodes can reach a checkpoint, here or in the functions of this source that they call.

    Args:
        nodes: What is run.
        scope: What its names mean.
        iterated: What the loop around them goes through: it runs a part of that for every step.
    """
    calls = _facts(nodes, scope)
    more = [] if iterated is None else _steps(iterated, scope)
    if calls is None or more is None:
        return True
    pending, seen = [*calls, *more], set[tuple[FunctionNode, frozenset[tuple[str, Role]]]]()
    while pending:
        definition, arguments = pending.pop()
        key = (definition.node, frozenset(arguments.items()))
        if key in seen:
            continue
        seen.add(key)
        further = _facts(definition.node.body, body_scope(definition, arguments))
        if further is None:
            return True
        pending += further
    return False


def _facts(nodes: Iterable[ast.AST], scope: Scope) -> list[_Visit] | None:
    """None when the nodes hold a checkpoint themselves; else the functions of this source that they call."""
    visits: list[_Visit] = []
    for node in own(nodes):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            found = role_of(node.iter, scope) is Role.TRACKED
        elif isinstance(node, ast.YieldFrom):
            found = role_of(node.value, scope) is Role.TRACKED
        elif isinstance(node, ast.Call):
            visit = _visit(node, scope)
            found = visit is None and _checks(node, scope)
            visits += [] if visit is None else [visit]
        else:
            continue
        if found:
            return None
    return visits


def _visit(call: ast.Call, scope: Scope) -> _Visit | None:
    """The function of this source that is called, with what it is given."""
    definition = scope.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
    if definition is None or role_of(call.func, scope) is not None:
        return None
    arguments = definition.node.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    given = [*zip(names, call.args, strict=False), *((each.arg, each.value) for each in call.keywords)]
    roles = {name: role for name, value in given if name is not None and (role := role_of(value, scope)) is not None}
    return _Visit(definition, roles)


def _checks(call: ast.Call, scope: Scope) -> bool:
    """Whether a call of something that is not defined here can reach a checkpoint."""
    role = role_of(call.func, scope)
    if role is not None:
        return role in (Role.CHECK, Role.TRACK)
    if plain_name(call.func) in _HARMLESS:
        return False
    given = [*call.args, *(each.value for each in call.keywords)]
    return any(role_of(each, scope) in (Role.CONTEXT, Role.CHECK, Role.TRACKED) for each in given)


def _steps(iterated: ast.expr, scope: Scope) -> list[_Visit] | None:
    """What is run for every step of going through an expression, in the terms of :func:`_facts`."""
    visits: list[_Visit] = []
    pending = [iterated]
    while pending:
        node = pending.pop()
        if role_of(node, scope) is Role.TRACKED:
            return None
        if isinstance(node, ast.GeneratorExp):
            facts = _facts([node.elt, *(test for each in node.generators for test in each.ifs)], scope)
            if facts is None:
                return None
            visits += facts
            pending += [each.iter for each in node.generators]
        elif isinstance(node, ast.Name) and node.id in scope.functions:  # given to map, filter or iter
            visits.append(_Visit(scope.functions[node.id], {}))
        elif isinstance(node, ast.Call):
            visit = _visit(node, scope)
            if visit is not None:
                visits += [visit] if _is_generator(visit.definition.node) else []
            elif is_lazy(node):
                pending += node.args
            elif plain_name(node.func) not in _EAGER and _checks(node, scope):
                return None
    return visits


def _is_generator(node: FunctionNode) -> bool:
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own(node.body))
