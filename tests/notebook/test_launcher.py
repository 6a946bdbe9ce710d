"""The launcher as widgets, without a browser: `notebook/launcher.py`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from chongming_task import Controller, RetryPolicy, TaskHandle, UnknownTask, task
from chongming_task.errors import ConfigurationError
from chongming_task.notebook import form_options, form_reading, launcher, launcher_field
from chongming_task.notebook.launcher import Launcher
from chongming_task.notebook.launcher_words import CHINESE, language_of, say
from chongming_task.notebook.pump import PUMP
from tests.support.waiting import until


@task(name="resize", retry=RetryPolicy(max_attempts=2))
def resize(width: int, how: Literal["fit", "crop"] = "fit", *, note: str = "<i>none</i>") -> list[Any]:
    """Resize <b>pictures</b>.

    Args:
        width: How <wide>.
    """
    return [width, how, note]


@pytest.fixture
def controller() -> Iterator[Controller]:
    controller = Controller(name="pictures", echo=False)
    controller.register_all(resize)
    yield controller
    controller.close()


@pytest.fixture
def show(controller) -> Iterator[Callable[..., Launcher]]:
    """Makes launchers, and closes them."""
    made: list[Launcher] = []

    def show(**options: Any) -> Launcher:
        made.append(Launcher(controller, **options))
        return made[-1]

    yield show
    for each in made:
        each.close()
    assert PUMP._thread is None


def done() -> None:
    """The pump has done what was posted so far."""
    event = threading.Event()
    PUMP.post(event.set)
    assert event.wait(20)


def box(shown: Launcher, name: str) -> Any:
    return next(each for each in (*shown._boxes, *shown._option_boxes) if each.field.name == name)


def fill(shown: Launcher, **values: Any) -> None:
    for name, value in values.items():
        box(shown, name.replace("_", " ")).input.value = value


def submit(shown: Launcher) -> None:
    shown._submitted_at = 0.0  # not a double click
    shown._submit.click()
    done()


def test_the_form_is_submitted_with_the_options(show, controller):
    """As it would be by hand; the card of the task is below."""
    shown = show(language="en")
    fill(shown, width="640", how=1, attempts="5", name="small ones", tags="web, fast")
    submit(shown)
    (record,) = controller.list_tasks()
    assert controller.result(record.task_id, timeout=20) == [640, "crop", "<i>none</i>"]
    assert (record.name, record.max_attempts, record.tags) == ("small ones", 5, {"web", "fast"})
    assert [type(card).__name__ for card in shown._cards.children] == ["Card"]
    assert shown._why.value == ""


def test_a_wrong_form_is_not_submitted(show, controller):
    """All that is wrong is marked; what becomes right loses its mark at once."""
    shown = show(language="en")
    fill(shown, width="wide", attempts="x")
    submit(shown)
    assert controller.list_tasks() == []
    assert "✕ write a whole number, such as 10" in box(shown, "width")._why.value
    assert "2 values are missing or wrong: see above." in shown._why.value
    assert shown._option_fields.layout.display is None  # unfolded
    fill(shown, width="64")
    done()
    assert box(shown, "width")._why.value == ""
    assert box(shown, "attempts").wrong


def test_what_the_controller_refuses_is_told(show, controller):
    """In the form, as text."""
    shown = show(language="en")
    fill(shown, width="1")
    controller.close()
    submit(shown)
    assert "Not submitted: this controller is closed; make a new one" in shown._why.value


def test_a_task_whose_card_cannot_be_shown_is_told_all_the_same(show, controller, monkeypatch):
    """It was submitted, and nobody should submit it again."""

    def no_card(self: Any, **options: Any) -> None:
        raise RuntimeError("no comm")

    monkeypatch.setattr(TaskHandle, "card", no_card)
    shown = show(language="en")
    fill(shown, width="1")
    submit(shown)
    assert "Submitted resize; its card cannot be shown: no comm" in shown._why.value


def test_a_double_click_submits_once(show, controller):
    """The second click of it comes before anybody could see the first one's card."""
    shown = show()
    fill(shown, width="1")
    shown._submit.click()
    shown._submit.click()
    done()
    assert len(controller.list_tasks()) == 1


def test_only_the_newest_cards_are_kept(show):
    """The others are in the panel; closed, so that they cost nothing."""
    shown = show()
    fill(shown, width="1")
    submit(shown)
    first = shown._cards.children[0]
    for _ in range(launcher._MOST_CARDS):
        submit(shown)
    assert len(shown._cards.children) == launcher._MOST_CARDS
    assert first not in shown._cards.children
    assert first.comm is None


def test_the_pump_alone_touches_what_is_shown(show, controller):
    """Whichever thread handles the clicks."""
    shown = show()
    threads: set[str] = set()
    for widget in (shown._cards, shown._why, shown._fields, shown._about, shown._option_fields.layout):
        widget.observe(lambda change: threads.add(threading.current_thread().name))
    fill(shown, width="x")
    submit(shown)
    fill(shown, width="1")
    submit(shown)
    controller.register(len, name="length")
    shown.refresh()
    done()
    shown._choice.value = "length"
    shown._fold.click()
    done()
    assert [each.field.name for each in shown._boxes] == ["obj"]
    assert threads == {"chongming-pump"}


def test_texts_of_a_task_are_shown_as_text(show):
    """A docstring is no HTML."""
    shown = show(language="en")
    assert shown._about.value == "Resize &lt;b&gt;pictures&lt;/b&gt;."
    assert box(shown, "width").children[1].value == "How &lt;wide&gt; · whole number · required"
    assert box(shown, "note").children[1].value == "text"


def test_no_task_yet(show, controller):
    """It says what to do, and finds the first one."""
    empty = Controller(echo=False)
    shown = Launcher(empty, language="en")
    assert shown._about.value == "No task is registered yet. controller.register(my_task) adds one."
    assert shown._submit.disabled
    empty.register_all(resize)
    shown.refresh()
    done()
    assert (shown._choice.value, shown._submit.disabled) == ("resize", False)
    shown.close()
    empty.close()


def test_a_task_that_was_defined_anew_gets_a_new_form(show, controller):
    """A cell that ran again registered it under the same name."""
    shown = show()
    controller.register(task(name="resize", retry=RetryPolicy(max_attempts=9))(resize.spec.function))
    shown.refresh()
    done()
    assert box(shown, "attempts").input.value == "9"


def test_wrong_arguments_of_its_own(controller):
    """Told before anything is made."""
    with pytest.raises(UnknownTask, match="did you mean 'resize'"):
        Launcher(controller, task="resiz")
    with pytest.raises(ConfigurationError, match="language is 'en', 'zh'"):
        Launcher(controller, language="de")
    assert PUMP._thread is None


def test_a_front_end_without_widgets_gets_a_line(show):
    """Beside the widget."""
    data = show()._repr_mimebundle_()
    assert data["text/plain"] == "Launcher of pictures: resize"
    assert "application/vnd.jupyter.widget-view+json" in data


def test_it_lets_go(controller):
    """Of the pump, and of every widget; twice does no harm."""
    shown = Launcher(controller)
    fill(shown, width="1")
    submit(shown)
    card = shown._cards.children[0]
    parts = [shown._choice, shown._submit, box(shown, "width").input, card]
    shown.close()
    shown.close()
    assert [part.comm for part in parts] == [None] * len(parts)
    until(lambda: PUMP._thread is None, "the pump has nothing to do")


FORGOTTEN = """
from chongming_task import Controller
from chongming_task.notebook.launcher import Launcher
from chongming_task.notebook.pump import PUMP

launcher = Launcher(Controller())
PUMP._lock.acquire()
"""


def test_a_forgotten_launcher_does_not_hold_up_the_end(tmp_path):
    """Not even where the end comes while a thread has the pump's lock, which it then never gives back."""
    done = subprocess.run([sys.executable, "-c", FORGOTTEN], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


# ---- the words


def test_every_sentence_is_there_in_chinese():
    """Those that are said, those of the options and the hints, and those of what is wrong."""
    said = set(form_reading.HINTS.values())
    said |= {text for each in form_options.option_fields(resize.spec) for text in (each.name, each.help)}
    for module in (launcher, launcher_field, form_reading, form_options):
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
                said |= set(texts[:1]) if called in ("words", "_words", "say", "Wrong") else set()
                said |= {f"{texts[0]}{{at}}"} if called == "_json" else set()
    assert said <= set(CHINESE)
    assert len(said) > 40


@pytest.mark.parametrize("text", sorted(CHINESE))
def test_a_sentence_takes_the_same_values_in_both_languages(text):
    """Or one would show a name in braces."""
    names = re.compile(r"(?<!\{)\{(\w+)\}")
    assert names.findall(text) == names.findall(CHINESE[text])


def test_the_language_is_the_locale_s_unless_somebody_says_another(monkeypatch):
    """The kernel does not know the browser's."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert [language_of(None), language_of("zh")] == ["en", "zh"]
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert [language_of(None), language_of("en")] == ["zh", "en"]
    assert say("zh", "Submit") == "提交"
    assert say("zh", "nobody translated {this}") == "nobody translated {this}"
