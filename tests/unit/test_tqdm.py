"""tqdm's bar in a task: it reports, gives checkpoints and stays silent; outside it is tqdm's own."""

from __future__ import annotations

import asyncio
import gc
import inspect
import io
import subprocess
import sys
import threading

import pytest

from chongming_task import Controller, Progress, TaskCancelled, run_task

tqdm_std = pytest.importorskip("tqdm.std")
from chongming_task.tqdm import _POSITIONAL, tqdm, trange  # noqa: E402 - where tqdm is not installed it cannot be had


def final(function, *args) -> Progress:
    """The last progress of a task that ended well."""
    handle = run_task(function, *args)
    handle.result()
    return handle.progress


def said(progress: Progress) -> tuple[object, ...]:
    """A progress without its time."""
    return progress.done, progress.total, progress.unit, progress.message


@pytest.fixture
def reports():
    """Runs a task and collects every progress that it reports, in order and without any throttle."""

    def run(function):
        collected = []

        def task(ctx):
            token = ctx._token

            class Spied:
                @staticmethod
                def report(*values):
                    token.report(*values)
                    collected.append(said(token.progress))

            ctx._token = Spied
            try:
                return function(ctx)
            finally:
                ctx._token = token

        run_task(task).result()
        return collected

    return run


# outside


def test_outside_a_task_it_is_tqdms_bar(capsys):
    """Drawn to stderr, iterated, counted."""
    bar = tqdm(range(3), desc="plain")
    assert isinstance(bar, tqdm_std.tqdm)
    assert not bar.disable
    assert list(bar) == [0, 1, 2]
    assert bar.n == 3
    assert "plain: 100%" in capsys.readouterr().err


def test_outside_a_task_manual_use_is_tqdms(capsys):
    """update, description, postfix, reset, close."""
    with tqdm(total=4, unit="rows") as bar:
        bar.update()
        bar.update(2)
        bar.set_description("half")
        bar.set_postfix(loss=0.5)
        assert bar.n == 3
        bar.reset(total=2)
        bar.update(2)
    err = capsys.readouterr().err
    assert "half" in err
    assert "loss=0.5" in err
    assert "2/2" in err


def test_outside_a_task_disable_is_heard(capsys):
    """As given, and nothing is drawn."""
    assert list(tqdm([1, 2], disable=True)) == [1, 2]
    assert capsys.readouterr().err == ""


# inside


def test_a_loop_reports_every_step(reports):
    """The count, and what the bar says of itself."""

    def work(ctx):
        return list(tqdm(["a", "b", "c"], desc="Reading", unit="files"))

    assert reports(work) == [
        (0, 3, "files", "Reading"),
        (0, 3, "files", "Reading"),
        (1, 3, "files", "Reading"),
        (2, 3, "files", "Reading"),
        (3, 3, "files", "Reading"),
    ]


def test_inside_a_task_nothing_is_drawn_unless_asked(capsys):
    """Tasks side by side would draw over each other."""
    assert said(final(lambda: [None for _ in tqdm(range(3))])) == (3, 3, "it", "")
    assert capsys.readouterr().err == ""
    assert said(final(lambda: [None for _ in tqdm(range(3), disable=False, file=sys.stderr)])) == (3, 3, "it", "")
    assert "3/3" in capsys.readouterr().err


def test_a_bar_that_is_switched_off_still_reports():
    """``disable=not verbose`` is about the terminal."""
    assert final(lambda: [None for _ in tqdm(range(3), disable=True)]).done == 3


@pytest.mark.parametrize("disable", [True, False])
def test_manual_use_reports(disable):
    """The same, drawn or not."""

    def work():
        with tqdm(total=10, unit="B", disable=disable, file=io.StringIO()) as bar:
            bar.update(4)
            bar.update()
            bar.set_description("loading")
            bar.set_postfix(loss=0.25, refresh=False)
            bar.update(2.5)
            assert bar.n == 7.5

    assert said(final(work)) == (7.5, 10, "B", "loading, loss=0.25")


def test_descriptions_become_the_message(reports):
    """With a colon or without, with a postfix or without; and none clears it."""

    def work(ctx):
        bar = tqdm(total=2, desc="one")
        bar.set_description("two")
        bar.set_description_str("three")
        bar.set_postfix_str("x=1")
        bar.set_description()
        bar.set_postfix_str()

    messages = [message for *_, message in reports(work)]
    assert list(dict.fromkeys(messages)) == ["one", "two", "three", "three, x=1", "x=1", ""]


def test_a_total_may_be_unknown_or_set_later(reports):
    """Nothing is invented."""

    def work(ctx):
        bar = tqdm(x for x in range(3))
        steps = iter(bar)
        next(steps)
        next(steps)
        bar.total = 3
        list(steps)

    assert [total for _, total, *_ in reports(work)] == [None, None, None, 3, 3]


def test_one_bar_after_the_other(reports):
    """The second begins anew and takes nothing over: neither total nor description nor unit."""

    def work(ctx):
        list(tqdm([1, 2], desc="first", unit="a"))
        list(tqdm(iter([1]), unit="b"))

    assert reports(work)[-2:] == [(0, None, "b", ""), (1, None, "b", "")]


def test_the_outermost_of_nested_bars_reports(reports):
    """What a person wants to see of epochs and batches is the epochs."""

    def work(ctx):
        for _ in tqdm(range(2), desc="epochs"):
            for _ in tqdm(range(5), desc="batches", leave=False):
                with tqdm(total=3, desc="bytes") as bar:
                    bar.update(3)
        list(tqdm(range(4), desc="evaluation"))

    found = reports(work)
    assert list(dict.fromkeys(message for *_, message in found)) == ["epochs", "evaluation"]
    assert [done for done, *_, message in found if message == "epochs"] == [0, 0, 1, 2]
    assert found[-1][:2] == (4, 4)


def test_an_inner_bar_that_outlives_the_outer_takes_over(reports):
    """There is always one that reports."""

    def work(ctx):
        outer, inner = tqdm(total=2, desc="outer"), tqdm(total=9, desc="inner")
        inner.update(4)
        outer.close()
        inner.update(1)

    assert reports(work)[-1] == (5, 9, "it", "inner")


def test_a_bar_that_was_left_by_break_is_over(reports):
    """And so is one that nobody holds any more."""

    def work(ctx):
        for _ in tqdm(range(9), desc="left"):
            break
        tqdm(total=3, desc="dropped")
        gc.collect()
        list(tqdm(range(2), desc="next"))

    assert reports(work)[-1] == (2, 2, "it", "next")


def test_a_bar_may_be_used_again(reports):
    """As shared bars in notebooks are."""

    def work(ctx):
        bar = tqdm(total=2, desc="shared")
        for _ in range(2):
            bar.reset(total=3)
            bar.update(3)
            bar.close()

    assert [(done, total) for done, total, *_ in reports(work)][-1] == (3, 3)


def test_bars_of_one_task_are_nothing_to_the_next():
    """Workers are reused; a bar that was never closed is not the next task's outermost."""
    kept = []

    def first():
        kept.append(tqdm(total=9, desc="never closed"))

    def second():
        list(tqdm(range(2), desc="mine"))

    with Controller(executor="inline") as controller:  # both in this thread
        controller.submit(first).result(timeout=30)
        handle = controller.submit(second)
        handle.result(timeout=30)
        assert said(handle.progress) == (2, 2, "it", "mine")
    kept[0].close()


def test_a_bar_made_outside_belongs_to_no_task():
    """It was somebody else's."""
    bar = tqdm(range(3), file=io.StringIO())
    handle = run_task(lambda: list(bar))
    assert handle.result() == [0, 1, 2]
    assert handle.progress is None


# checkpoints


def in_a_loop(entered):
    for _ in tqdm(iter(int, 1)):
        entered.set()


def by_hand(entered):
    bar = tqdm()
    while True:
        entered.set()
        bar.update()


def in_a_nested_loop(entered):
    for _ in tqdm(range(1)):
        for _ in tqdm(iter(int, 1)):
            entered.set()


def drawn(entered):
    for _ in tqdm(iter(int, 1), disable=False, file=io.StringIO()):
        entered.set()


async def asynchronous(entered):
    async for _ in tqdm(iter(int, 1)):
        entered.set()


@pytest.mark.parametrize("function", [in_a_loop, by_hand, in_a_nested_loop, drawn, asynchronous])
def test_a_loop_with_a_bar_can_be_paused_and_stopped(function):
    """Without another line in it."""
    entered = threading.Event()
    with Controller() as controller:
        handle = controller.submit(function, entered)
        assert entered.wait(30)
        assert handle.pause(timeout=30)
        assert handle.status == "paused"
        handle.resume()
        assert handle.stop(timeout=30)
        assert handle.status == "stopped"


def test_a_stop_closes_the_bar():
    """What is drawn ends with its line."""
    out, entered, bars = io.StringIO(), threading.Event(), []

    def work():
        bars.append(tqdm(iter(int, 1), disable=False, file=out))
        for _ in bars[0]:
            entered.set()

    with Controller() as controller:
        handle = controller.submit(work)
        assert entered.wait(30)
        assert handle.stop(timeout=30)
    assert out.getvalue().endswith("\n")


def test_updates_from_other_threads_report_and_stop_nobody():
    """A stop is raised in the task, not in a pool's thread that happens to count for it."""
    raised: list[BaseException] = []

    def work(ctx):
        bar = tqdm(total=1)
        ctx._token.stop("user")

        def count():
            try:
                bar.update()
            except BaseException as error:
                raised.append(error)

        other = threading.Thread(target=count)
        other.start()
        other.join(30)
        assert bar.n == 1
        with pytest.raises(TaskCancelled):
            bar.update()
        return bar.n

    run_task(work)
    assert raised == []


# as tqdm's


def test_arguments_are_tqdms_also_by_position():
    """In the order that tqdm has; new ones are keywords until they are known here."""
    theirs = list(inspect.signature(tqdm_std.tqdm.__init__).parameters)
    assert theirs[:4] == ["self", "iterable", "desc", "total"]
    assert theirs[4 : 4 + len(_POSITIONAL)] == _POSITIONAL
    progress = final(lambda: list(tqdm([1, 2], "Reading", 5, True, None, None, 0.1, 10.0, None, None, True, "rows")))
    assert said(progress) == (2, 5, "rows", "Reading")


def test_wrong_arguments_are_refused_as_tqdm_does():
    """And the half-made bar goes quietly."""
    with pytest.raises((TypeError, KeyError)):
        tqdm([1], disable=False, file=io.StringIO(), nonsense=3)


def test_len_bool_and_initial(reports):
    """The rest of the interface is untouched."""

    def work(ctx):
        bar = tqdm([1, 2, 3], initial=4, total=7)
        assert len(bar) == 3
        assert bar
        list(bar)
        assert bar.n == 7

    assert reports(work)[-1][:2] == (7, 7)


def test_trange_write_and_asyncio(capsys):
    """The things that come with it."""

    async def work():
        tqdm.write("a line", file=sys.stderr)
        await tqdm.gather(*(asyncio.sleep(0) for _ in range(3)))
        return [n async for n in trange(2, 5, unit="n")]

    handle = run_task(work)
    assert handle.result() == [2, 3, 4]
    assert said(handle.progress) == (3, 3, "n", "")
    assert capsys.readouterr().err == "a line\n"


def test_pandas_progress_reports():
    """``tqdm.pandas()`` makes bars of this class."""
    pd = pytest.importorskip("pandas")

    def work():
        tqdm.pandas(desc="applying")
        return int(pd.Series([1, 2, 3]).progress_apply(lambda x: x + 1).sum())

    handle = run_task(work)
    assert handle.result() == 9
    assert said(handle.progress) == (3, 3, "it", "applying")


def test_without_tqdm_the_extra_is_named():
    """As on a machine where it is not installed."""
    code = (
        "import sys; sys.modules['tqdm'] = sys.modules['tqdm.auto'] = None\n"
        "from chongming_task import ConfigurationError\n"
        "try:\n    import chongming_task.tqdm\n"
        "except ConfigurationError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert 'pip install "chongming-task[tqdm]"' in done.stdout
