"""What a submission may say beside the arguments, as fields of its form: name, attempts, time limit, tags. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chongming_task.api.task import TaskSpec
from chongming_task.notebook.form import Field, Kind
from chongming_task.notebook.form_reading import Wrong, read_field

__all__ = ["option_fields", "read_options"]


def option_fields(spec: TaskSpec) -> tuple[Field, ...]:
    """The fields of a task's options, with what the task itself says.

    Args:
        spec: The task, as a registry has it.
    """
    retry, timeout = spec.policy
    limit = timeout.per_attempt
    return (
        Field("name", Kind.TEXT, "", None, optional=True, help="what panels call it"),
        Field("attempts", Kind.WHOLE, str(retry.max_attempts), retry.max_attempts, help="how often it is tried in all"),
        Field(
            "time limit",
            Kind.NUMBER,
            "" if limit is None else f"{limit:g}",
            limit,
            optional=True,
            help="seconds a try may take; empty: no limit",
        ),
        Field("tags", Kind.TEXT, "", None, optional=True, help="separated by commas, beside the task's own"),
    )


def read_options(spec: TaskSpec, filled: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Wrong]]:
    """The keywords for ``submit``, and what is wrong by field.

    Args:
        spec: The task.
        filled: What each field's input holds.
    """
    options: dict[str, Any] = {}
    wrong: dict[str, Wrong] = {}
    for each in option_fields(spec):
        try:
            value = read_field(each, filled[each.name])
            if value != each.default:
                options |= _KEYWORDS[each.name](spec, value)
        except Wrong as error:
            wrong[each.name] = error
    return options, wrong


def _attempts(spec: TaskSpec, count: int) -> dict[str, Any]:
    if count < 1:
        raise Wrong("write 1 or more")
    return {"retry": replace(spec.policy.retry, max_attempts=count)}


def _limit(spec: TaskSpec, seconds: float | None) -> dict[str, Any]:
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise Wrong("write more than 0 seconds, or leave it empty for no limit")
    return {"timeout": replace(spec.policy.timeout, per_attempt=seconds)}


def _tags(spec: TaskSpec, text: str) -> dict[str, Any]:
    return {"tags": frozenset(tag.strip() for tag in text.split(",") if tag.strip())}


_KEYWORDS: Mapping[str, Callable[[TaskSpec, Any], dict[str, Any]]] = {
    "name": lambda spec, name: {"name": name.strip()},
    "attempts": _attempts,
    "time limit": _limit,
    "tags": _tags,
}
