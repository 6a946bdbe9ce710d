"""One field of a launcher: an input with its name above, and what goes in and what is wrong below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from chongming_task.notebook.extra import require
from chongming_task.notebook.form import REQUIRED, Field, Kind
from chongming_task.notebook.form_reading import HINTS, Wrong
from chongming_task.notebook.launcher_words import say

if TYPE_CHECKING:
    import ipywidgets
else:
    ipywidgets = require("ipywidgets", "The launcher")

__all__ = ["FieldBox", "text_box"]

_SHOWN_DEFAULT = 60  # characters of a default that the input cannot show
_PLAIN_TO_SEE = frozenset({Kind.CHECK, Kind.CHOICE, Kind.DAY})
_CODE = frozenset({Kind.LIST, Kind.MAPPING, Kind.LITERAL, Kind.PATH})


class FieldBox(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """A field as widgets.

    Args:
        asked: The field.
        language: ``"en"`` or ``"zh"``.
        translate: Whether its name is a word of ours; a parameter's is the task's own.
        changed: Called when its input changes, by whichever thread handles comms.
    """

    def __init__(
        self, asked: Field, language: str, changed: Callable[[FieldBox], None], *, translate: bool = False
    ) -> None:
        self.field = asked
        self._language = language
        self.wrong = False
        label = say(language, asked.name) if translate else asked.name
        self.input = _INPUTS.get(asked.kind, _text)(asked, label, partial(say, language))
        self._why = text_box("cmt-launcher-why")
        self._why.layout.display = "none"
        words = partial(say, language)
        help_text = words(asked.help) if translate else _help(asked, words)
        self.input.tooltip = help_text  # read out with the input
        super().__init__([self.input, text_box("cmt-launcher-help", help_text), self._why])
        for name in ("cmt-launcher-field", *_classes(asked)):
            self.add_class(name)
        self.input.observe(lambda change: changed(self), "value")

    def mark(self, wrong: Wrong | None) -> None:
        """Says what is wrong with its value, or that nothing is. Called by the pump's thread.

        Args:
            wrong: What to say.
        """
        if wrong is None and not self.wrong:
            return
        self.wrong = wrong is not None
        said = "" if wrong is None else say(self._language, wrong.sentence, **wrong.values)
        self._why.value = f'<span role="alert">✕ {escape(said)}</span>' if said else ""
        self._why.layout.display = None if said else "none"
        (self.add_class if said else self.remove_class)("cmt-launcher-wrong")


def text_box(name: str, text: str = "") -> Any:
    """Text that is no field: it is shown as it is, whatever is in it.

    Args:
        name: Its CSS class.
        text: What it says.
    """
    box = ipywidgets.HTML(escape(text))
    box.add_class(name)
    return box


def _classes(asked: Field) -> list[str]:
    named = {
        "cmt-launcher-check": asked.kind is Kind.CHECK,
        "cmt-launcher-code": asked.kind in _CODE,
        "cmt-launcher-long": asked.kind in _CODE,
        "cmt-launcher-required": _must(asked),
    }
    return [name for name, true in named.items() if true]


def _must(asked: Field) -> bool:
    return asked.default is REQUIRED and not asked.optional and asked.kind is not Kind.CHECK


def _help(asked: Field, words: Callable[..., str]) -> str:
    """What goes in, what happens when nothing does, and what the task says of it."""
    parts = [] if asked.kind in _PLAIN_TO_SEE else [words(HINTS[asked.kind])]
    if _must(asked):
        parts.append(words("required"))
    elif asked.optional and asked.default in (REQUIRED, None):
        parts.append(words("empty: None"))
    elif asked.shown in ("", None) and asked.default not in ("", (), {}):
        text = repr(asked.default)
        shown = text if len(text) <= _SHOWN_DEFAULT else f"{text[: _SHOWN_DEFAULT - 1]}…"
        parts.append(words("default: {default}", default=shown))
    return " · ".join([*([asked.help.rstrip(".")] if asked.help else []), *parts])


# ---- one input a kind

_STYLE = {"description_width": "initial"}


def _text(asked: Field, label: str, words: Callable[[str], str]) -> Any:
    return ipywidgets.Text(asked.shown, description=label, style=_STYLE)


def _area(asked: Field, label: str, words: Callable[[str], str]) -> Any:
    return ipywidgets.Textarea(asked.shown, description=label, style=_STYLE, rows=2)


def _check(asked: Field, label: str, words: Callable[[str], str]) -> Any:
    return ipywidgets.Checkbox(asked.shown, description=label, style=_STYLE, indent=False)


def _choice(asked: Field, label: str, words: Callable[[str], str]) -> Any:
    options: list[tuple[str, int | None]] = [(choice.label, number) for number, choice in enumerate(asked.choices)]
    if asked.shown is None:
        options = [(words("choose…"), None), *options]
    return ipywidgets.Dropdown(options=options, value=asked.shown, description=label, style=_STYLE)


def _day(asked: Field, label: str, words: Callable[[str], str]) -> Any:
    return ipywidgets.DatePicker(value=asked.shown, description=label, style=_STYLE)


_INPUTS: Mapping[Kind, Callable[[Field, str, Callable[[str], str]], Any]] = {
    Kind.CHECK: _check,
    Kind.CHOICE: _choice,
    Kind.DAY: _day,
    Kind.LIST: _area,
    Kind.MAPPING: _area,
}
