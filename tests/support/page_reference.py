"""What the reference takes from the code: errors, events, the command line, and the wire between kernel and views."""

from __future__ import annotations

import argparse
import inspect
import json
from dataclasses import fields

from chongming_task import errors as tree
from chongming_task.cli.parser import parser_for
from chongming_task.core import events as told
from chongming_task.notebook import feed, inbound, outlet, rows
from tests.support.page_tables import table

__all__ = ["command_line", "errors", "events", "situations", "view_limits", "wire_row"]


def errors() -> str:
    """The tree, as it is drawn in the module."""
    document = inspect.getdoc(tree)
    assert document is not None
    lines = document.splitlines()
    drawn = [line[4:] for line in lines[1:-1] if line.startswith("    ")]
    return "```text\n" + "\n".join(line.rstrip() for line in drawn) + "\n```\n"


def events() -> str:
    """Every event, what it tells, and what it holds beside what all of them have."""
    common = {field.name for field in fields(told.Event)}
    kinds = [getattr(told, name) for name in told.__all__ if name != "Event"]
    return table(
        ("event", "tells", "holds", "may be dropped"),
        (
            (
                f"[`{kind.__name__}`][chongming_task.{kind.__name__}]",
                _first_line(kind),
                " ".join(f"`{field.name}`" for field in fields(kind) if field.name not in common),
                "when its reader is slow" if kind.droppable else "",
            )
            for kind in kinds
        ),
    )


def _first_line(of: object) -> str:
    return (inspect.getdoc(of) or "").partition("\n")[0].rstrip(".")


# ---- the command line


def command_line() -> str:
    """Every verb with its arguments and options."""
    parser = parser_for(str)
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = [f"## Everywhere\n\n{_options(parser)}"]
    parts += [
        f"## `{name}`\n\n{verb.description}\n\n```text\n{_usage(verb)}\n```\n\n{_options(verb)}".rstrip() + "\n"
        for name, verb in verbs.choices.items()
    ]
    return "\n".join(parts)


def _usage(verb: argparse.ArgumentParser) -> str:
    return " ".join(verb.format_usage().removeprefix("usage: ").split())


def _options(parser: argparse.ArgumentParser) -> str:
    shown = [
        (f"`{', '.join(action.option_strings) or action.metavar}{_value(action)}`", str(action.help))
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))
    ]
    return table(("option", "meaning"), shown) if shown else ""


def _value(action: argparse.Action) -> str:
    if not action.option_strings or action.nargs == 0:
        return ""
    return f" {action.metavar or '|'.join(action.choices or ())}".replace("|", "\\|")


# ---- the wire


def wire_row() -> str:
    """The fields of a row and their defaults."""
    comments = _comments(rows.Row)
    return table(
        ("field", "unless told", "meaning"),
        (
            (f"`{name}`", f"`{json.dumps(value)}`", comments.get(name, ""))
            for name, value in zip(rows.Row._fields, rows.DEFAULT_ROW, strict=True)
        ),
    )


def _comments(cls: type) -> dict[str, str]:
    found = {}
    for line in inspect.getsource(cls).splitlines():
        name, _, comment = line.strip().partition("  # ")
        if comment and ":" in name:
            found[name.partition(":")[0]] = comment
    return found


def situations() -> str:
    """The verb table as a view is sent it."""
    return table(
        ("`situation`", "`status`", "`held`", "`rank`", "`rules`"),
        (
            (
                str(number),
                each["status"],
                str(each["held"]).lower().replace("none", ""),
                str(each["rank"]),
                f"`{each['rules']}`",
            )
            for number, each in enumerate(rows.situations())
        ),
    )


def view_limits() -> str:
    """What both sides keep to."""
    limits = [
        ("seconds between messages to a view; one may come early", f"{outlet.MESSAGE_INTERVAL:g}"),
        ("a page of rows, bytes, about", f"{feed.MESSAGE_BYTES:,}"),
        ("seconds between pings", f"{outlet.PING_INTERVAL:g}"),
        ("seconds without a word until a view is no longer sent to", f"{outlet.SLEEP_AFTER:g}"),
        ("rows in the saved notebook", f"{feed.SAVED_ROWS}"),
        ("ids in one verb", f"{inbound.MAX_IDS:,}"),
        ("ids in one question why they wait", f"{inbound.MAX_WAITS}"),
        ("ids in one question for their pasts", f"{inbound.MAX_PASTS}"),
        ("characters of an id", f"{inbound.MAX_ID_CHARS}"),
        ("characters of the reason for a status set by hand", f"{inbound.MAX_REASON_CHARS:,}"),
        ("characters of a name in a row", f"{rows.NAME_CHARS}"),
        ("characters of any other text in a row", f"{rows.TEXT_CHARS}"),
        ("tags in a row", f"{rows.TAGS_SHOWN}"),
    ]
    return table(("limit", ""), limits)
