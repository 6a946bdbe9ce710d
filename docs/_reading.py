"""Reads our sources for the reference: roles become links, examples are shown as code, fields tell their comments."""

from __future__ import annotations

import builtins
import re
from typing import Any

import griffe

__all__ = ["Reading"]

_ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc):`(~?)([\w.]+)`")
_COMMENT = re.compile(r"\S.*?\s{2,}#\s(.*)$")


class Reading(griffe.Extension):
    """Changes what griffe has read, before it is shown."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Once for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = _written(obj.docstring.value, obj)

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Once for every class, when its fields are known."""
        told = [(name, text) for name, field in cls.attributes.items() if (text := _comment_of(field))]
        if told and cls.docstring is not None and "Attributes:" not in cls.docstring.value:
            listed = "".join(f"    {name}: {text}\n" for name, text in told)
            cls.docstring.value = f"{cls.docstring.value.rstrip()}\n\nAttributes:\n{listed}"


def _written(text: str, obj: griffe.Object) -> str:
    text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
    return _ROLE.sub(lambda role: _link(role[2], obj, short=bool(role[1])), text)


def _link(name: str, obj: griffe.Object, *, short: bool) -> str:
    shown = f"`{name.rpartition('.')[2] if short else name}`"
    return shown if hasattr(builtins, name) else f"[{shown}][{_target(name, obj)}]"


def _target(name: str, obj: griffe.Object) -> str:
    """The full path of what a docstring calls by a shorter name."""
    if name.startswith("chongming_task"):
        return name
    first, dot, rest = name.partition(".")
    owner: Any = obj
    while owner is not None and not owner.is_module:
        if owner.is_class and first in owner.all_members:
            return f"{owner.path}.{name}"
        owner = owner.parent
    try:
        found = obj.resolve(first)
    except griffe.NameResolutionError:  # not imported where it is spoken of; or a part of the controller means another
        found = f"chongming_task.{first}" if first[0].isupper() else f"chongming_task.Controller.{first}"
    return f"{found}{dot}{rest}"


def _comment_of(field: griffe.Attribute) -> str | None:
    """The comment behind a field's line, which is how our records tell what it is."""
    if field.lineno is None or field.name.startswith("_") or field.docstring is not None:
        return None
    found = _COMMENT.match(field.lines_collection[field.filepath][field.lineno - 1].strip())
    return None if found is None else f"{found[1][:1].upper()}{found[1][1:].rstrip('.')}."
