"""What can be written: the verbs and their options. Loads nothing that a verb needs, so ``--help`` is quick."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["parser_for"]

_EPILOG = """\
The database is named by --db, or better by the environment variable CHONGMING_TASK_DB: what stands in --db is seen in
the machine's list of processes. IDs may be shortened to their end or their beginning, or be the name of the one record
that has it. Exit codes: 0 done, 1 task failed, 2 usage, 3 not found, 4 refused, 5 asked but not confirmed, 6 database
out of reach, 7 lost, 8 stopped by somebody else, 130 interrupted. See docs/cli.md."""


class _Parser(argparse.ArgumentParser):
    """One whose complaints repeat no password."""

    hidden: Callable[[str], str] = staticmethod(str)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, self.hidden(f"{self.prog}: {message}\n"))


def parser_for(hidden: Callable[[str], str]) -> argparse.ArgumentParser:
    """The parser of the whole command line.

    Args:
        hidden: Blots secrets out of what is told.
    """
    kind = type("_HidingParser", (_Parser,), {"hidden": staticmethod(hidden)})
    parser: argparse.ArgumentParser = kind(
        prog="chongming-task",
        description="Run tasks, watch and steer them, from any shell that reaches their database.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--db", metavar="PATH|DSN", help="an SQLite file, or postgresql://...")
    parser.add_argument("--json", action="store_true", help="results as JSON")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    common = kind(add_help=False)
    common.add_argument("--db", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    common.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)

    def verb(name: str, does: str, text: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = verbs.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[common], allow_abbrev=False
        )
        made.set_defaults(does=does)
        return made

    _add_run(verb("run", "run:run", "run a task here, and wait for its end"))
    _add_looking(verb)
    _add_steering(verb)
    _add_tending(verb)
    return parser


_Verb = Callable[[str, str, str], argparse.ArgumentParser]


def _add_run(run: argparse.ArgumentParser) -> None:
    _tasks(run, required=True, text="the module that holds the task; only this one is imported")
    run.add_argument("name", metavar="NAME", help="the task, by its name")
    run.add_argument("--args", type=_list, default=(), metavar="JSON", help="its arguments, such as '[1, \"a\"]'")
    run.add_argument("--kwargs", type=_object, default={}, metavar="JSON", help="by keyword, such as '{\"n\": 1}'")
    run.add_argument("--executor", choices=("thread", "process"), default="thread", help="who runs it (thread)")
    run.add_argument("--name", dest="called", metavar="TEXT", help="what to call the record")
    run.add_argument("--tag", action="append", default=[], metavar="TAG", help="a tag for the record; may be repeated")
    run.add_argument("--retry", type=_positive, metavar="N", help="try it up to N times")
    run.add_argument("--timeout", type=_seconds, metavar="S", help="how long an attempt may take")
    run.add_argument("--bucket-key", metavar="KEY", help="the business key that decides the bucket")
    run.add_argument("--num-buckets", type=_positive, metavar="N", help="how many buckets the deployment has")
    _grace(run, "Ctrl-C")


def _add_looking(verb: _Verb) -> None:
    ps = verb("ps", "ps:ps", "list tasks: those that have not ended, the newest")
    ps.add_argument("--all", action="store_true", help="also those that have ended")
    ps.add_argument("--watch", action="store_true", help="again whenever something changes")
    ps.add_argument("--status", action="append", metavar="STATUS", help="only these, such as failed,lost")
    ps.add_argument("--tag", metavar="TAG", help="only those with this tag")
    ps.add_argument("--pipeline", metavar="RUN", help="only those of this pipeline run")
    ps.add_argument("--limit", type=_count, default=50, metavar="N", help="at most so many (50); 0 for all")
    status = verb("status", "status:status", "tell all about one task")
    _id(status)
    status.add_argument("-v", "--verbose", action="store_true", help="also the traceback, arguments and result")
    logs = verb("logs", "logs:logs", "show what a task has printed and logged")
    _id(logs)
    _follow(logs, "go on until it has ended")
    logs.add_argument("--tail", type=_count, metavar="N", help="only the newest N lines")
    logs.add_argument("-t", "--timestamps", action="store_true", help="begin each line with its time")
    events = verb("events", "events:events", "show changes of status, of one task or of all")
    events.add_argument("id", metavar="ID", nargs="?", help="the task")
    _follow(events, "go on until Ctrl-C")
    events.add_argument("--limit", type=_count, default=50, metavar="N", help="the newest N (50); 0 for all")
    verb("buckets", "buckets:buckets", "show buckets: what waits, who takes it, holes and overlaps")


def _add_steering(verb: _Verb) -> None:
    for name, text in (
        ("stop", "stop tasks"),
        ("cancel", "cancel tasks: like stop, as a consequence of something else"),
        ("pause", "hold tasks at their next checkpoint, or before their start"),
        ("resume", "let paused tasks go on"),
        ("retry", "try tasks again that failed, were stopped, cancelled or lost"),
        ("skip", "pass over tasks that have not begun, or have failed"),
    ):
        one = verb(name, "steer:steer", text)
        one.add_argument("ids", metavar="ID", nargs="+", help="the tasks")
        one.add_argument("--reason", metavar="TEXT", help="why, for the audit trail")
        one.add_argument("--wait", type=_seconds, default=5.0, metavar="S", help="how long to wait for it (5 seconds)")
        if name in ("stop", "cancel"):
            _grace(one, name)
        if name == "stop":
            one.add_argument("--now", action="store_true", help="give it no time")
        if name == "retry":
            one.add_argument("--force", action="store_true", help="one more attempt than it was given")
        if name in ("retry", "resume"):
            _tasks(one, text="run it here, when its process is gone: the module that holds its task")


def _add_tending(verb: _Verb) -> None:
    reconcile = verb("reconcile", "reconcile:reconcile", "tell the truth about tasks whose process is gone")
    reconcile.add_argument("--dry-run", action="store_true", help="only say what would be done")
    reconcile.add_argument("--requeue", action="store_true", help="run lost ones again here; needs --tasks")
    _tasks(reconcile, text="the module that holds the tasks; those that never ran are run here")
    _grace(reconcile, "Ctrl-C")
    prune = verb("prune", "prune:prune", "drop the oldest ended tasks with their history")
    prune.add_argument("--keep", type=_count, required=True, metavar="N", help="how many ended ones stay")
    lint = verb("lint", "lint:lint", "find loops that never reach a checkpoint; needs no database")
    lint.add_argument("targets", metavar="PATH|MODULE", nargs="+", help="what to look at; nothing of it is run")


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task")


def _tasks(parser: argparse.ArgumentParser, *, text: str, required: bool = False) -> None:
    parser.add_argument("--tasks", metavar="MODULE", required=required, help=text)


def _follow(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help=text)


def _grace(parser: argparse.ArgumentParser, by: str) -> None:
    parser.add_argument(
        "--grace", type=_seconds, default=10.0, metavar="S", help=f"how long {by} gives it to end (10 seconds)"
    )


# values; their errors name what was expected and leave it to the parser to repeat what was written


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"seconds are a number, 0 or more, got {text!r:.50}")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"a whole number is expected, 0 or more, got {text!r:.50}")
    return int(text)


def _positive(text: str) -> int:
    value = _count(text)
    if value == 0:
        raise argparse.ArgumentTypeError("a whole number is expected, 1 or more")
    return value


def _list(text: str) -> list[Any]:
    found = _json(text)
    if not isinstance(found, list):
        raise argparse.ArgumentTypeError(f"a JSON list is expected, such as '[1, \"a\"]', got {text!r:.100}")
    return found


def _object(text: str) -> dict[str, Any]:
    found = _json(text)
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"a JSON object is expected, such as '{{\"n\": 1}}', got {text!r:.100}")
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"this is no JSON: {error}") from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
