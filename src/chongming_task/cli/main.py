"""One call of the command line: from arguments to an exit code. Whatever goes wrong ends here, in one sentence."""

from __future__ import annotations

import io
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TextIO

from chongming_task.cli.console import Console
from chongming_task.cli.database import VARIABLE
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.parser import parser_for
from chongming_task.cli.secrets import Hidden
from chongming_task.errors import (
    ConfigurationError,
    ControllerClosed,
    InvalidTransition,
    NotRestartable,
    StoreError,
    TaskError,
    UnknownTask,
)

__all__ = ["main"]

_CODES: tuple[tuple[type[TaskError], ExitCode], ...] = (
    (ConfigurationError, ExitCode.USAGE),
    (UnknownTask, ExitCode.NOT_FOUND),
    (InvalidTransition, ExitCode.REFUSED),
    (NotRestartable, ExitCode.REFUSED),
    (ControllerClosed, ExitCode.UNCONFIRMED),
    (StoreError, ExitCode.UNREACHABLE),
    (TaskError, ExitCode.FAILED),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: As a shell gives them, without the program's name; default: those of this process.

    Returns:
        The exit code, see ``ExitCode``.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    hidden = Hidden([*words, *(word.partition("=")[2] for word in words), os.environ.get(VARIABLE, "")])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter that the terminal does not know is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        options = parser_for(hidden).parse_args(words)
        return _done(options, Console(json=options.json, hidden=hidden))
    except SystemExit as ended:  # help and usage have been printed
        return int(ended.code or 0)
    except BrokenPipeError:
        return ExitCode.READER_GONE
    finally:
        for stream in (sys.stdout, sys.stderr):
            _drain(stream)


def _done(options: Namespace, console: Console) -> int:
    """Carry out the verb; what goes wrong is told in one sentence."""
    try:
        return _verb(options)(options, console)
    except TaskError as error:
        console.error(str(error))
        return next(code for kind, code in _CODES if isinstance(error, kind))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception:  # a fault of ours: to be seen whole, but for secrets
        console.error("this is a fault of chongming-task itself\n" + traceback.format_exc())
        return ExitCode.BUG


def _verb(options: Namespace) -> Callable[[Namespace, Console], int]:
    module, _, name = options.does.partition(":")
    verb: Callable[[Namespace, Console], int] = getattr(import_module(f"chongming_task.cli.commands.{module}"), name)
    return verb


def _drain(stream: TextIO) -> None:
    """Write what is left; where the reader has gone, let it go nowhere, or Python would complain of it at its end."""
    try:
        stream.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
