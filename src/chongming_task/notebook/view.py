"""What all live views have in common: an anywidget that shows tasks of a controller and carries clicks back.

The widget itself decides nothing. Clicks are checked by ``inbound`` and handed to ``controller.ask``, which never
blocks; what has to wait for a store is an errand; whatever goes to the browser goes through the pump's thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.errors import ConfigurationError, TaskError
from chongming_task.notebook.details import TaskReader, details_of, waits_of
from chongming_task.notebook.errands import Errands
from chongming_task.notebook.extra import require
from chongming_task.notebook.feed import Feed
from chongming_task.notebook.inbound import (
    DetailsRequest,
    ForceRequest,
    Message,
    PastRequest,
    Refusal,
    RunRequest,
    SignalMessage,
    VerbRequest,
    WaitsRequest,
    parse,
)
from chongming_task.notebook.past import past_of
from chongming_task.notebook.pump import PUMP, TaskSource
from chongming_task.notebook.shell import SHELL, hear_clicks_while_a_cell_runs
from chongming_task.notebook.static_table import html_table, text_table

if TYPE_CHECKING:
    import anywidget
    import traitlets
else:
    anywidget = require("anywidget", "A live view")
    traitlets = require("traitlets", "A live view")

__all__ = ["LANGUAGES", "Steered", "View"]

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
LANGUAGES = ("en", "zh", None)
"""What views speak; None: as the browser, or this process's locale, prefers."""


class Answer(Protocol):
    """What became of one task a verb was asked for."""

    @property
    def task_id(self) -> str:
        """The task."""

    @property
    def ok(self) -> bool:
        """Whether the verb was accepted."""

    @property
    def acted(self) -> bool:
        """Whether it changed anything; False when the task already was as asked."""

    @property
    def error(self) -> object | None:
        """Why it was refused; its text is shown."""


class Steered(TaskSource, TaskReader, Protocol):
    """What a view needs of a controller."""

    def list_tasks(self, *, pipeline_run_id: str | None = None) -> list[TaskSnapshot]:
        """Every task as it stands, or those of one run."""

    def force_transition(self, task_id: str, to: TaskStatus, /, *, reason: str, actor: str) -> bool:
        """Sets a status by hand; waits until it is stored."""

    @property
    def ask(self) -> Callable[..., None]:
        """``Controller.ask``: posts a verb for several tasks and calls ``done`` with an ``Answer`` for each."""


class View(anywidget.AnyWidget):
    """A live view of some tasks; each kind brings its own ESM and style sheet.

    Args:
        controller: Who is asked and steered.
        source: The tasks that are shown; default: all of the controller's.
        feed: Makes the rows, of a title and of now in Unix milliseconds.
        language: ``"en"`` or ``"zh"``; default: as the browser prefers.
        traits: What a kind of view has beside.

    Raises:
        ConfigurationError: For another language.
    """

    _view: ClassVar[str]
    """The name of its files in ``static``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "_view" in vars(cls):  # a kind of view; traits that are added to a widget make subclasses as well
            cls._esm = STATIC / f"{cls._view}.js"
            cls._css = STATIC / f"{cls._view}.css"
        super().__init_subclass__(**kwargs)

    saved = traitlets.Dict().tag(sync=True)
    """The first rows as last known: what a saved notebook shows without a kernel."""

    language = traitlets.Unicode("").tag(sync=True)
    """What the view speaks; empty: as the browser prefers. Read when it is drawn first."""

    def __init__(
        self,
        controller: Steered,
        source: TaskSource | None = None,
        *,
        feed: Callable[[str, int], Feed] = Feed,
        language: str | None = None,
        **traits: Any,
    ) -> None:
        if language not in LANGUAGES:
            raise ConfigurationError(f"language is 'en', 'zh' or None for the browser's, got {language!r:.100}")
        SHELL.watch()
        self._controller = controller
        source = controller if source is None else source
        self._feed = PUMP.feed_of(source, feed)
        self._errands = Errands()
        try:
            super().__init__(saved=self._feed.saved_table(_unix_ms()), language=language or "", **traits)
            hear_clicks_while_a_cell_runs(self.comm)
            self.on_msg(self._on_message)
        except BaseException:
            PUMP.forget(self._feed)
            raise
        self._outlet = PUMP.add(source, self._feed, self)

    @property
    def _actor(self) -> str:
        """Who acts where somebody clicks in it, for the audit trail."""
        return f"user:{self._view}"

    # ---- called by the pump's thread

    def deliver(self, message: dict[str, Any]) -> None:
        """Sends a custom message to every view of this widget.

        Args:
            message: What the browser is told, as JSON.
        """
        self.send(message)

    def save(self, table: dict[str, Any]) -> None:
        """Replaces the saved table.

        Args:
            table: What a reopened notebook shows, as JSON.
        """
        self.saved = table

    # ---- called by whichever thread handles comms

    def _on_message(self, widget: Any, content: object, buffers: object) -> None:
        """Checks a message and passes it on. Never raises: an exception here would end in somebody's cell."""
        request_id = None
        try:
            message = parse(content, self._feed)
            request_id = None if isinstance(message, SignalMessage | Refusal) else message.id
            self._take(message)
        except TaskError as error:  # a refusal, as by a controller that is closed
            if request_id is not None:
                self._answer(_answer(request_id, error=str(error) or type(error).__name__))
        except Exception as error:
            logger.exception("a message of a view could not be handled")
            if request_id is not None:
                self._answer(_answer(request_id, error=str(error) or type(error).__name__))

    def _take(self, message: Message) -> None:
        match message:
            case SignalMessage():
                PUMP.post(lambda: self._outlet.hear(message.signal, PUMP.now))
            case VerbRequest():
                self._pass_on(message)
            case DetailsRequest(id, task, seen, after):
                self._send_out(id, lambda: details_of(self._controller, task, seen=seen, after=after))
            case WaitsRequest(id, tasks):
                self._send_out(id, lambda: {task: waits_of(self._controller, task) for task in tasks})
            case PastRequest(id, tasks):
                self._send_out(id, lambda: past_of(self._controller, tasks, self._feed.epoch_ms))
            case ForceRequest(id, task, to, reason):
                self._send_out(id, lambda: self._force(task, to, reason))
            case RunRequest(id):
                self._send_out(id, lambda: self._steer(message))
            case Refusal():
                logger.warning("a message of a view was refused: %s", message.error)
                if message.id is not None:
                    self._answer(_answer(message.id, error=message.error))

    def _force(self, task: str, to: TaskStatus, reason: str) -> dict[str, Any]:
        return {"done": self._controller.force_transition(task, to, reason=reason, actor=self._actor)}

    def _steer(self, request: RunRequest) -> dict[str, Any]:
        """Has the whole run do something; returns what is answered."""
        raise ConfigurationError("this view does not show a pipeline run")

    def _send_out(self, request_id: str, errand: Callable[[], dict[str, Any]]) -> None:
        """Has something done that may take a while, and answers with what came of it."""

        def run() -> None:
            try:
                answer = _answer(request_id, body=errand())
            except TaskError as error:
                answer = _answer(request_id, error=str(error) or type(error).__name__)
            except Exception as error:  # a fault of ours, or of the store's driver: told where it was asked
                logger.exception("a request of a view could not be answered")
                answer = _answer(request_id, error=str(error) or type(error).__name__)
            self._answer(answer)

        if not self._errands.post(run):
            self._answer(_answer(request_id, error="too many requests wait already; this one was left out"))

    def _pass_on(self, request: VerbRequest) -> None:
        unknown = [_result(task, ok=False, acted=False, error="no such task in this view") for task in request.unknown]

        def done(answers: Sequence[Answer]) -> None:
            told = [_result(each.task_id, ok=each.ok, acted=each.acted, error=each.error) for each in answers]
            self._answer(_answer(request.id, results=told + unknown))

        if request.known:
            self._controller.ask(request.verb, request.known, actor=self._actor, done=done, **request.args)
        else:
            done([])

    def _answer(self, message: dict[str, Any]) -> None:
        def queue() -> None:
            self._outlet.hear(None, PUMP.now)
            self._outlet.answer(message)

        PUMP.post(queue)

    # ---- showing and ending

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        return {**data, **self._tables()}, metadata

    def _tables(self) -> dict[str, str]:
        feed = self._feed
        rows = [feed.row(number) for number in feed.in_display_order()]
        now_ms = _unix_ms()
        shown_at = datetime.fromtimestamp(now_ms / 1000).astimezone()
        shown = (feed.title, feed.counts(), rows, now_ms - feed.epoch_ms, shown_at)
        return {"text/plain": text_table(*shown), "text/html": html_table(*shown)}

    @property
    def closed(self) -> bool:
        """Whether it was closed, by hand or by whoever closes all widgets."""
        return self.comm is None

    def close(self) -> None:
        """Takes the view out of the notebook and stops sending to it."""
        outlet = self.__dict__.get("_outlet")
        if outlet is not None:
            PUMP.remove(outlet)
            self._errands.close()
        super().close()


def _unix_ms() -> int:
    return time.time_ns() // 1_000_000


def _answer(
    request_id: str,
    *,
    error: str | None = None,
    results: Sequence[dict[str, Any]] = (),
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    answer = {"kind": "answer", "id": request_id, "ok": error is None, "error": error, "results": list(results)}
    return answer if body is None else {**answer, "body": body}


def _result(task: str, *, ok: bool, acted: bool, error: object | None) -> dict[str, Any]:
    return {"task": task, "ok": ok, "acted": acted, "error": None if error is None else str(error)}
