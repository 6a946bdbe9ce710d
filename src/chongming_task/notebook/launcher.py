"""A form for every registered task: choose one, fill it in, submit it, and watch it in the card below.

from chongming_task.notebook.launcher import Launcher

Launcher(controller)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chongming_task.api.controller import Controller
from chongming_task.api.handle import TaskHandle
from chongming_task.api.task import TaskSpec
from chongming_task.errors import ConfigurationError
from chongming_task.notebook.extra import require
from chongming_task.notebook.form import form_of
from chongming_task.notebook.form_options import option_fields, read_options
from chongming_task.notebook.form_reading import Wrong, read, read_field
from chongming_task.notebook.launcher_field import FieldBox, text_box
from chongming_task.notebook.launcher_words import language_of, say
from chongming_task.notebook.pump import PUMP
from chongming_task.notebook.shell import SHELL, hear_clicks_while_a_cell_runs
from chongming_task.notebook.speaking import speaking_as_here
from chongming_task.notebook.view import LANGUAGES

if TYPE_CHECKING:
    import ipywidgets
else:
    ipywidgets = require("ipywidgets", "The launcher")

__all__ = ["Launcher"]

logger = logging.getLogger(__name__)

_STYLE = (Path(__file__).parent / "launcher.css").read_text(encoding="utf-8")
_MOST_CARDS = 10
_DOUBLE_CLICK = 0.5  # seconds in which a second click is none of its own


class Launcher(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """A form for the registered tasks of a controller; itself a widget, which fits into any layout of ipywidgets.

    A submitted task shows as a card under the form, the newest first. What is filled in stays, for the next one.

    Args:
        controller: Whose registered tasks it offers, and who runs them.
        task: The name of the task to begin with; default: the first.
        language: ``"en"`` or ``"zh"``; default: as the locale of this process says, for the kernel does not know the
            browser's.

    Raises:
        UnknownTask: When no task is registered by that name.
        ConfigurationError: When the ``notebook`` extra is not installed, or for another language.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     spec = controller.register(pow)
        ...     launcher = Launcher(controller)
        ...     launcher.close()
    """

    def __init__(self, controller: Controller, *, task: str | None = None, language: str | None = None) -> None:
        if language not in LANGUAGES:
            raise ConfigurationError(f"language is 'en', 'zh' or None for the locale's, got {language!r:.100}")
        if task is not None:
            controller.registry.get(task)
        SHELL.watch()
        self._controller = controller
        self._language = language
        self._speak = speaking_as_here()
        self._submitted_at = 0.0
        self._spec: TaskSpec | None = None
        self._boxes: Sequence[FieldBox] = ()
        self._option_boxes: Sequence[FieldBox] = ()
        self._make_parts()
        self._show_tasks(task)
        super().__init__(
            [
                ipywidgets.HTML(f"<style>{_STYLE}</style>", layout={"display": "none"}),
                ipywidgets.HBox([self._choice, self._refresh]).add_class("cmt-launcher-head"),
                self._about,
                self._fields,
                self._options,
                ipywidgets.HBox([self._submit, self._why]).add_class("cmt-launcher-foot"),
                self._cards,
            ]
        )
        self.add_class("cmt-launcher")
        self._hear(self._choice, self._refresh, self._fold, self._submit)
        self._let_go = PUMP.hold()

    def _make_parts(self) -> None:
        """The widgets that are there whatever the task is."""
        words = self._words
        self._choice = ipywidgets.Dropdown(description=words("Task"), style={"description_width": "initial"})
        self._refresh = ipywidgets.Button(
            description=words("Refresh"), tooltip=words("Look for tasks that were registered since")
        )
        self._about = text_box("cmt-launcher-about")
        self._fields = ipywidgets.VBox().add_class("cmt-launcher-fields")
        self._fold = ipywidgets.Button().add_class("cmt-launcher-fold")
        self._option_fields = ipywidgets.VBox(layout={"display": "none"}).add_class("cmt-launcher-fields")
        self._options = ipywidgets.VBox([self._fold, self._option_fields]).add_class("cmt-launcher-options")
        self._submit = ipywidgets.Button(description=words("Submit"), button_style="primary")
        self._why = text_box("cmt-launcher-why-all")
        self._cards = ipywidgets.VBox().add_class("cmt-launcher-cards")
        self._choice.observe(lambda change: self._later(self._show_form), "value")
        self._refresh.on_click(lambda button: self._later(self._show_tasks))
        self._fold.on_click(lambda button: self._later(self._turn_fold))
        self._submit.on_click(lambda button: self._on_submit())

    # ---- called by whichever thread handles comms, or by a cell

    def refresh(self) -> None:
        """Looks for tasks that were registered since."""
        self._later(self._show_tasks)

    def _later(self, action: Callable[[], None]) -> None:
        """Has the pump's thread do something, for it alone may touch widgets that are shown."""

        def act() -> None:
            try:
                self._speak(action)
            except Exception:  # the pump serves every view
                logger.exception("the launcher could not be brought up to date")

        PUMP.post(act)

    def _on_change(self, box: FieldBox) -> None:
        """What was wrong may be right now; what was not wrong is looked at when it is submitted."""
        if box.wrong:
            self._later(lambda: box.mark(_wrong_with(box)))

    def _on_submit(self) -> None:
        spec, now = self._spec, time.monotonic()
        if spec is None or now - self._submitted_at < _DOUBLE_CLICK:
            return
        reading = read(form_of(spec), {box.field.name: box.input.value for box in self._boxes})
        options, wrong_options = read_options(spec, {box.field.name: box.input.value for box in self._option_boxes})
        if reading.wrong or wrong_options:
            self._later(lambda: self._mark(reading.wrong, wrong_options))
            return
        self._submitted_at = now
        try:
            handle = self._controller.submit(spec.name, args=reading.args, kwargs=reading.kwargs, **options)
        except Exception as error:  # refused, or the store is out of reach: told where it was asked
            why = self._words("Not submitted: {why}", why=str(error) or type(error).__name__)
            self._later(lambda: self._tell(why))
        else:
            self._later(lambda: self._show_card(handle))

    # ---- called by the pump's thread, and at first by the cell that makes the launcher

    def _show_tasks(self, chosen: str | None = None) -> None:
        """The registered tasks, as they are now."""
        names = sorted(self._controller.registry)
        wanted = chosen or self._choice.value
        if names != list(self._choice.options):
            self._choice.options = names
        self._choice.value = wanted if wanted in names else next(iter(names), None)
        self._choice.disabled = self._submit.disabled = not names
        self._show_form()

    def _show_form(self) -> None:
        """The form of the chosen task; the one that is there stays while its task is the same."""
        name = self._choice.value
        spec = self._controller.registry.get(name) if name is not None else None
        if spec is not None and spec is self._spec:
            return
        before = (*self._boxes, *self._option_boxes)
        self._spec = spec
        form = None if spec is None else form_of(spec)
        self._boxes = [FieldBox(each, self._tongue, self._on_change) for each in (form.fields if form else ())]
        self._option_boxes = [
            FieldBox(each, self._tongue, self._on_change, translate=True)
            for each in (option_fields(spec) if spec else ())
        ]
        self._hear(*(box.input for box in (*self._boxes, *self._option_boxes)))
        self._fields.children = self._boxes
        self._option_fields.children = self._option_boxes
        self._options.layout.display = "none" if spec is None else None
        self._tell_about(form.about if form else None, bool(self._boxes))
        self._turn_fold(False)
        self._tell("")
        for box in before:
            _close_all(box)

    def _tell_about(self, about: str | None, has_fields: bool) -> None:
        if about is None:
            said = self._words("No task is registered yet. controller.register(my_task) adds one.")
        else:
            said = " ".join(filter(None, (about, "" if has_fields else self._words("It takes no arguments."))))
        self._about.value = escape(said)
        self._about.layout.display = None if said else "none"

    def _turn_fold(self, shown: bool | None = None) -> None:
        """Shows the options, or hides them."""
        shown = self._option_fields.layout.display == "none" if shown is None else shown
        self._option_fields.layout.display = None if shown else "none"
        self._fold.description = f"{'▾' if shown else '▸'} {self._words('Options')}"

    def _mark(self, wrong: Any, wrong_options: Any) -> None:
        """Marks every field that is wrong, says how many, and leads to the first."""
        marked = []
        for boxes, found in ((self._boxes, wrong), (self._option_boxes, wrong_options)):
            for box in boxes:
                box.mark(found.get(box.field.name))
                marked += [box] if box.wrong else []
        if wrong_options:
            self._turn_fold(True)
        count = len(marked)
        if count == 1:
            self._tell(self._words("1 value is missing or wrong: see above."))
        else:
            self._tell(self._words("{count} values are missing or wrong: see above.", count=count))
        if marked:
            marked[0].input.focus()

    def _show_card(self, handle: TaskHandle[Any]) -> None:
        for box in (*self._boxes, *self._option_boxes):
            box.mark(None)
        self._tell("")
        try:
            card = handle.card(language=self._language)
        except Exception as error:  # it runs all the same, and that must be seen
            logger.exception("a card could not be made")
            self._tell(
                self._words("Submitted {name}; its card cannot be shown: {why}", name=handle.name, why=str(error))
            )
            return
        self._cards.children = (card, *self._cards.children)
        for old in self._cards.children[_MOST_CARDS:]:
            self._cards.children = self._cards.children[:_MOST_CARDS]
            old.close()

    def _tell(self, said: str) -> None:
        self._why.value = f'<span role="alert">{escape(said)}</span>' if said else ""

    # ---- showing and ending

    @property
    def _tongue(self) -> str:
        return language_of(self._language)

    def _words(self, text: str, **values: Any) -> str:
        return say(self._tongue, text, **values)

    def _hear(self, *widgets: Any) -> None:
        for widget in widgets:
            hear_clicks_while_a_cell_runs(widget.comm)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        names = ", ".join(sorted(self._controller.registry)) or "no task is registered yet"
        return {**data, "text/plain": f"Launcher of {self._controller.name or 'tasks'}: {names}"}

    def close(self) -> None:
        """Takes the launcher and its cards out of the notebook; their tasks go on."""
        let_go = self.__dict__.pop("_let_go", None)
        if let_go is not None:
            let_go()
            _close_all(self)


def _wrong_with(box: FieldBox) -> Wrong | None:
    try:
        read_field(box.field, box.input.value)
    except Wrong as error:
        return error
    return None


def _close_all(widget: Any) -> None:
    """A box and what is in it; ipywidgets closes the box alone."""
    for child in getattr(widget, "children", ()):
        _close_all(child)
    ipywidgets.Widget.close(widget) if isinstance(widget, Launcher) else widget.close()
