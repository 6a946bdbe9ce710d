"""``%load_ext chongming_task``: ``%%task`` runs a cell in the background, ``%tasks`` shows what runs.

    %%task --name "fit the model" --timeout 10m
    model = fit(train)
    model.score(test)

See ``docs/magics.md`` for what such a cell reads and writes.
"""

from __future__ import annotations

import argparse
import linecache
import logging
import os
import shlex
from typing import TYPE_CHECKING, Any

from chongming_task.api.controller import Controller
from chongming_task.api.handle import TaskHandle
from chongming_task.api.signature import shape_of
from chongming_task.api.task import TaskFunction, TaskSpec, checked_name
from chongming_task.core.policies import TaskPolicy, Timeout
from chongming_task.errors import TaskError
from chongming_task.notebook.cell_code import CellCode, compile_cell, title_of
from chongming_task.notebook.cell_display import divert_displays
from chongming_task.notebook.cell_task import CellResults, CellTask
from chongming_task.notebook.extra import require
from chongming_task.notebook.magics_controller import SESSION
from chongming_task.notebook.magics_options import (
    count,
    executor_name,
    retry_of,
    seconds,
    tags_of,
    timeout_of,
    variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    import traitlets
    from IPython.core.error import UsageError
    from IPython.core.magic import Magics

    F = TypeVar("F", bound=Callable[..., Any])
    C = TypeVar("C", bound=type)
    # IPython's own declare no types.
    magics_class: Callable[[C], C]
    line_magic: Callable[[F], F]
    line_cell_magic: Callable[[F], F]
    magic_arguments: Callable[[], Callable[[F], F]]
    argument: Callable[..., Callable[[F], F]]
else:
    traitlets = require("traitlets", "%load_ext chongming_task")
    require("IPython", "%load_ext chongming_task")
    from IPython.core.error import UsageError
    from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class
    from IPython.core.magic_arguments import argument, magic_arguments

__all__ = ["ChongmingTask", "load", "unload"]

logger = logging.getLogger(__name__)

_MAGICS = {"line": ("task", "tasks"), "cell": ("task",)}


class CellSyntaxError(TaskError):
    """The cell is no Python. Shown as IPython shows it for any cell: the line and the place in it, no stack."""

    def __init__(self, error: SyntaxError, shown: list[str]) -> None:
        super().__init__(str(error))
        self._shown = shown

    def _render_traceback_(self) -> list[str]:
        return self._shown


@magics_class
class ChongmingTask(Magics):
    """The magics, and what they do where a line says nothing else."""

    shell: Any
    store = traitlets.Unicode(
        help='Where the session\'s controller keeps its records: "" for memory, a path for SQLite, or '
        '"postgresql://..."; $NAME stands for an environment variable: a password is better kept there.'
    ).tag(config=True)
    executor = traitlets.Enum(("thread", "inline"), "thread", help="Who runs cells.").tag(config=True)
    max_parallel = traitlets.Int(None, allow_none=True, help="How many cells run at once; None: 32.").tag(config=True)
    name = traitlets.Unicode("notebook", help="What the panel is headed with.").tag(config=True)
    artifacts = traitlets.Unicode("", help='The folder for files of tasks; "": .chongming/artifacts.').tag(config=True)
    attempts = traitlets.Int(1, min=1, help="How often a cell is tried in all.").tag(config=True)
    timeout = traitlets.Float(None, allow_none=True, help="Seconds an attempt may take; None: no limit.").tag(
        config=True
    )
    tags = traitlets.List(traitlets.Unicode(), help="Tags of every cell's task.").tag(config=True)
    language = traitlets.Enum(("", "en", "zh"), "", help='What %tasks speaks; "": as the browser.').tag(config=True)

    # ---- the magics

    @magic_arguments()
    @argument("-n", "--name", help="What the task is called; default: the cell's number and its first line.")
    @argument("-r", "--retry", type=count, metavar="N", help="How often it is tried again when it fails.")
    @argument("--attempts", type=count, metavar="N", help="The same, the first try included.")
    @argument("--backoff", metavar="HOW", help="Between two tries: exponential (default), fixed, none, or a time.")
    @argument("-t", "--timeout", type=seconds, metavar="TIME", help="How long a try may take: 90, 30s, 5m, 2h.")
    @argument("--idle", type=seconds, metavar="TIME", help="How long it may take between two checkpoints.")
    @argument("--tags", nargs="+", action="extend", default=[], help="For the panel's filter, and for limits.")
    @argument("-p", "--priority", type=int, help="Higher runs first.")
    @argument("-e", "--executor", type=executor_name, help="thread: in the background; inline: here, the cell waits.")
    @argument("-c", "--controller", type=variable, metavar="VARIABLE", help="Submit to this controller of yours.")
    @argument("-o", "--out", type=variable, metavar="VARIABLE", help="The variable for the handle; it is in _ as well.")
    @argument("-h", "--help", action="store_true", help="Show this.")
    @line_cell_magic
    def task(self, line: str, cell: str | None = None) -> TaskHandle[Any] | None:
        """Run the cell in the background, as a task.

        It reads the notebook's names as they are now. What it assigns shows up in the notebook when it succeeds, all at
        once; its last expression is the task's result, and what it prints goes to the task's output. ctx is the task's
        context. It can be paused and stopped between its statements and at every turn of its loops.
        """
        options = self._parse("task", line)
        if options.help:
            self._show_help("task")
            return None
        if cell is None:
            raise UsageError("%%task stands on the first line of a cell; the cell is the task. %task --help tells more")
        function = CellTask(self._compile(cell), self.shell.user_ns, lambda: divert_displays(self.shell.display_pub))
        title = title_of(cell, self._number) if options.name is None else options.name
        try:
            spec = self._spec(function, title, options)
            handle: TaskHandle[Any] = self._controller(options).submit(
                TaskFunction(function, spec), priority=options.priority
            )
        except TaskError as wrong:
            raise UsageError(str(wrong)) from wrong
        if options.out is not None:
            self.shell.user_ns[options.out] = handle
        return handle

    @magic_arguments()
    @argument("controller", nargs="?", type=variable, metavar="VARIABLE", help="What to show instead: a controller.")
    @argument("-u", "--use", action="store_true", help="%%task submits to it from now on.")
    @argument("-e", "--executor", type=executor_name, help="Show the session's controller with this executor.")
    @argument("-o", "--out", type=variable, metavar="VARIABLE", help="Assign the controller, and show nothing.")
    @argument("--close", action="store_true", help="Stop the session's tasks and close its controllers.")
    @argument("-h", "--help", action="store_true", help="Show this.")
    @line_magic
    def tasks(self, line: str) -> Any:
        """Show the panel of the session's controller: the one that %%task submits to."""
        options = self._parse("tasks", line)
        if options.help:
            self._show_help("tasks")
            return None
        if options.close:
            return SESSION.close() or None
        if options.use and options.controller is None:
            raise UsageError("which one? write %tasks --use my_controller")
        if options.controller is not None and not options.use:
            return self._shown(options)
        controller = self._controller(options)
        if options.use:
            SESSION.choose(controller)
        if options.out is not None:
            self.shell.user_ns[options.out] = controller
            return None
        return controller.panel(language=self.language or None)

    def _shown(self, options: argparse.Namespace) -> Any:
        """The panel of what a variable holds: a controller, an attached store, a run."""
        panel = getattr(self.shell.user_ns.get(options.controller), "panel", None)
        if not callable(panel):
            raise UsageError(f"{options.controller} has no panel; write %tasks my_controller")
        return panel(language=self.language or None)

    def _parse(self, magic: str, line: str) -> argparse.Namespace:
        """What the line says. Split as a shell would: IPython's own splitter leaves the quotes in.

        Raises:
            UsageError: When it says nothing that makes sense.
        """
        try:
            words = shlex.split(line)
        except ValueError as wrong:
            raise UsageError(f"{wrong}: {line}") from None
        found: argparse.Namespace = getattr(type(self), magic).parser.parse_args(words)
        return found

    def _show_help(self, magic: str) -> None:
        """Shows what a magic takes; pagers, which %%task? opens, are no part of a notebook."""
        text = getattr(type(self), magic).parser.format_help()
        self.shell.display_pub.publish({"text/plain": text.replace("::\n\n  %", "%")})

    # ---- one cell

    def _compile(self, cell: str) -> CellCode:
        """The cell's code, with the line numbers of the cell as it is seen: ``%%task`` is on the first.

        Raises:
            CellSyntaxError: Where it is no Python.
            UsageError: Where it has no code, or is another cell magic.
        """
        text = cell.strip()
        if not text:
            raise UsageError("the cell has no code under %%task")
        if text.startswith("%%"):
            raise UsageError(f"{text.split()[0]} under %%task would run on the notebook itself; leave one of them away")
        above = next(number for number, each in enumerate(cell.splitlines()) if each.strip())
        source = "\n" * above + self.shell.transform_cell(cell)  # which drops the empty lines above
        name = _remember_source(self._number, f"%%task\n{source}")
        try:
            return compile_cell(f"\n{source}", name, self.shell.compile.flags, self.shell.transform_ast)
        except (SyntaxError, ValueError) as wrong:  # ValueError: NUL in the source, in some versions
            error = wrong if isinstance(wrong, SyntaxError) else SyntaxError(str(wrong))
            no_frames: list[Any] = []
            shown = self.shell.SyntaxTB.structured_traceback(type(error), error, no_frames)
            raise CellSyntaxError(error, shown) from None

    @property
    def _number(self) -> int:
        """The number of the cell that runs: IPython counts on before it does, or after, as its version has it."""
        return len(self.shell.history_manager.input_hist_parsed) - 1

    def _spec(self, function: CellTask, title: str, options: argparse.Namespace) -> TaskSpec:
        limits = timeout_of(per_attempt=options.timeout or self.timeout, idle=options.idle)
        retry = retry_of(self._attempts(options), options.backoff)
        return TaskSpec(
            checked_name(title),
            function,
            TaskPolicy(retry, limits or Timeout()),
            tags=tags_of([*self.tags, *options.tags]),
            shape=shape_of(function),
            results=CellResults(),
        )

    def _attempts(self, options: argparse.Namespace) -> int:
        if options.retry is not None and options.attempts is not None:
            raise UsageError("give either --retry or --attempts: --retry 2 is --attempts 3")
        if options.retry is not None:
            return 1 + int(options.retry)
        return int(self.attempts if options.attempts is None else options.attempts)

    # ---- its controller

    def _controller(self, options: argparse.Namespace) -> Controller:
        """The one that is named, the session's with that executor, or the session's default."""
        if options.controller is not None:
            found = self.shell.user_ns.get(options.controller)
            if not isinstance(found, Controller):
                raise UsageError(
                    f"{options.controller} is no controller; make one: {options.controller} = Controller()"
                )
            return found
        if options.executor is not None:
            return SESSION.made(options.executor, self._make)
        return SESSION.default(self.executor, self._make)

    def _make(self, executor: str) -> Controller:
        return Controller(
            os.path.expandvars(self.store) or None,
            executor,
            max_parallel=self.max_parallel,
            name=self.name,
            artifacts=self.artifacts or None,
        )

    def tell_of_a_late_change(self, change: Any) -> None:
        """For what counts when the controller is made."""
        if SESSION.begun:
            logger.warning("the session's controller exists already: %s counts after %%tasks --close", change.name)


def load(shell: Any) -> None:
    """Registers the magics with a shell; once is enough, twice does no harm.

    Args:
        shell: The InteractiveShell.
    """
    manager = shell.magics_manager
    if ChongmingTask.__name__ not in manager.registry:
        magics = ChongmingTask(shell=shell)
        magics.observe(magics.tell_of_a_late_change, ["store", "executor", "max_parallel", "name", "artifacts"])
        manager.register(magics)
        shell.configurables.append(magics)  # so that %config knows it


def unload(shell: Any) -> None:
    """Takes the magics out of a shell. Tasks go on, and loading the extension again finds their controller.

    Args:
        shell: The InteractiveShell.
    """
    manager = shell.magics_manager
    magics = manager.registry.pop(ChongmingTask.__name__, None)
    if magics is not None:
        for kind, names in _MAGICS.items():
            for name in names:
                manager.magics[kind].pop(name, None)
        shell.configurables.remove(magics)
        magics.unobserve_all()  # it hears of the shell's configuration for as long as that lives


def _remember_source(number: int, source: str) -> str:
    """Keeps the text of a cell where tracebacks look for it, and says what they call it."""
    lines = source.splitlines(keepends=True)
    name, again = f"<cell In[{number}]>", 1
    while linecache.getlines(name) not in ([], lines):  # cells that are not counted share a number
        again += 1
        name = f"<cell In[{number}], {again}>"
    linecache.cache[name] = (len(source), None, lines, name)  # None: it stays, whatever is on disk
    return name
