"""What is written is cut into lines, kept within bounds, and taken from tasks only."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from datetime import UTC, datetime

import pytest

from chongming_task import MemoryTaskStore, TaskLogLine, TaskOutput
from chongming_task.core.output import LINE_LIMIT, OUTPUT_CHARACTERS, OUTPUT_LINES, LineCutter, OutputBatch, WrittenLine
from chongming_task.core.ports import AttemptRequest, OutputWritten
from chongming_task.core.records import OutputLine
from chongming_task.runtime import capture
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.output import OutputSink
from chongming_task.runtime.token import CancellationToken

AT = datetime(2030, 1, 1, tzinfo=UTC)


def cut(*texts: str) -> list[str]:
    """The lines of texts that are written one after the other, and what is left at the end."""
    cutter = LineCutter("stdout")
    lines = [line for text in texts for line in cutter.feed(text, 0.0)]
    return [line.text for line in [*lines, *cutter.end()]]


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["a\n", "b", "c\n"], ["a", "bc"]),
        (["\n\n"], ["", ""]),
        (["no end"], ["no end"]),
        (["10 %\r20 %", "\r30 %\n"], ["30 %"]),
        (["windows\r\n"], ["windows"]),
        (["\r 50 %", "\r 99 %"], [" 99 %"]),
        (["\rbar", "\r   \r"], ["bar"]),
        (["\rbar\r   \r", "done\n"], ["done"]),
        (["bell\x07 nul\0 \ud800\n"], ["bell␇ nul␀ \ufffd"]),
    ],
    ids=["parts", "empty", "open", "returns", "crlf", "bar", "wiped", "wiped-then-text", "unsafe"],
)
def test_text_is_cut_into_lines(texts, lines):
    """At line ends only; a carriage return begins the line anew; what terminals obey is shown instead."""
    assert cut(*texts) == lines


@pytest.mark.parametrize("step", [7, 5_000, 10_000_000], ids=str)
def test_a_line_without_end_keeps_its_beginning_and_its_end(step):
    """However it was written, the middle gives way to a mark that says how much is missing."""
    text = "begin" + "x" * 200_000 + "end"
    (line,) = cut(*[text[i : i + step] for i in range(0, len(text), step)])
    assert line.startswith("beginxxx")
    assert line.endswith("xxxend")
    assert len(line) <= LINE_LIMIT + 100
    kept = len(line) - len(line[line.index(" … [") : line.rindex("] … ") + 4])
    assert f"[{len(text) - kept} characters left out]" in line


class Reader:
    """Takes from a sink when the test says so."""

    def __init__(self) -> None:
        self.told: list[OutputWritten] = []
        self.sink = OutputSink(1, self.told.append)

    def take(self) -> list[str]:
        batch = self.sink.take()
        return [] if batch is None else [line.text for line in batch.lines]


def test_the_reader_is_told_once():
    """Until it found nothing; then it is told again."""
    reader = Reader()
    for _ in range(3):
        reader.sink.write("stdout", "x\n")
    assert len(reader.told) == 1
    assert reader.take() == ["x"] * 3
    reader.sink.write("stdout", "y\n")
    assert len(reader.told) == 1
    assert reader.take() == ["y"]
    assert reader.sink.take() is None
    reader.sink.write("stdout", "z\n")
    assert len(reader.told) == 2


def test_an_open_line_comes_at_the_end():
    """Of both streams, with the last batch."""
    reader = Reader()
    reader.sink.write("stdout", "out")
    reader.sink.write("stderr", "err")
    assert reader.take() == []
    reader.sink.close()
    batch = reader.sink.take()
    assert batch is not None
    assert (batch.final, sorted(line.text for line in batch.lines)) == (True, ["err", "out"])
    reader.sink.write("stdout", "left behind\n")
    assert len(reader.told) == 3
    assert reader.take() == ["left behind"]


def test_the_buffer_is_bounded_and_counts():
    """Two million lines leave the newest; together with what was skipped they are all accounted for."""
    reader = Reader()
    for number in range(200_000):
        reader.sink.write("stdout", f"{number}")
        reader.sink.write("stdout", "\n")
    assert len(reader.sink._chunks) < 3 * OUTPUT_LINES
    batch = reader.sink.take()
    assert batch is not None
    assert batch.lines[0].skipped + len(batch.lines) == 200_000
    assert batch.lines[-1].text == "199999"
    assert int(batch.lines[0].text) == batch.lines[0].skipped
    assert len(batch.lines) > OUTPUT_LINES // 2


def test_a_line_begun_before_a_gap_is_counted_once():
    """Its beginning was taken, its end was swept away: it is shown as it was, and is not among those left out."""
    reader = Reader()
    reader.sink.write("stdout", "begun")
    assert reader.take() == []
    for number in range(100_000):
        reader.sink.write("stdout", "\n")
        reader.sink.write("stdout", f"{number}")
    reader.sink.close()
    batch = reader.sink.take()
    assert batch is not None
    assert batch.lines[0].text == "begun"
    assert batch.lines[1].skipped == int(batch.lines[1].text)
    assert sum(line.skipped + 1 for line in batch.lines) == 100_001


def test_one_huge_text_is_kept_to_its_end():
    """A single print of everything must not push everything out."""
    reader = Reader()
    reader.sink.write("stdout", "".join(f"{number}\n" for number in range(2_000_000)))
    batch = reader.sink.take()
    assert batch is not None
    assert batch.lines[-1].text == "1999999"
    assert batch.lines[0].skipped + len(batch.lines) == 2_000_000
    assert sum(len(line.text) for line in batch.lines) <= OUTPUT_CHARACTERS


def test_lines_pass_from_one_sink_to_another():
    """As from a worker process: cut there, with what was skipped there."""
    there, here = Reader(), Reader()
    there.sink.write("stderr", "cut\n")
    batch = there.sink.take()
    assert batch is not None
    here.sink.add(OutputBatch([*batch.lines, WrittenLine("log", "two", AT, 20, skipped=5)]))
    taken = here.sink.take()
    assert taken is not None
    assert taken.lines == [*batch.lines, WrittenLine("log", "two", AT, 20, skipped=5)]


# the store


def line(task_id: str, seq: int, text: str = "x") -> OutputLine:
    return OutputLine(task_id, 1, seq, "stdout", text, AT)


def test_the_store_keeps_the_newest(rig):
    """By lines and by characters; what is gone leaves a gap in the numbers."""
    task_id, store = rig.submit().id, rig.store
    store.append_output([line(task_id, seq) for seq in range(1, OUTPUT_LINES + 11)])
    assert [each.seq for each in store.output(task_id)] == list(range(11, OUTPUT_LINES + 11))
    store.append_output([line(task_id, OUTPUT_LINES + 20, "y" * OUTPUT_CHARACTERS)])
    assert [each.seq for each in store.output(task_id)] == [OUTPUT_LINES + 20]


def test_the_store_gives_parts_and_takes_nothing_twice(rig):
    """After a line, the newest few; appended again after a failure; of a record it does not know."""
    task_id, store = rig.submit().id, rig.store
    lines = [line(task_id, seq) for seq in (1, 2, 5)]
    store.append_output(lines)
    store.append_output([*lines, line("nobody", 1)])
    assert store.output(task_id) == lines
    assert store.output(task_id, after=1, limit=1) == [line(task_id, 5)]
    assert store.output(task_id, limit=0) == []
    assert store.output("nobody") == []


# the engine


def test_output_is_stored_before_the_end(make_rig):
    """A store that has the end of a record has its last line."""

    class Watching(MemoryTaskStore):
        def commit(self, writes):
            ended = [write.snapshot.task_id for write in writes if write.snapshot.is_terminal]
            seen.extend([each.text for each in self.output(task_id)] for task_id in ended)
            return super().commit(writes)

    seen: list[list[str]] = []
    rig = make_rig(Watching())
    _, worker = rig.running()
    sink = OutputSink(1, worker.deliver_again)
    sink.write("stdout", "last words")
    sink.close()
    worker.finish()
    rig.settle()
    assert seen == [["last words"]]


def test_the_engine_looks_again_while_a_task_writes(rig):
    """A few times a second, not at every line."""
    handle, worker = rig.running()
    told: list[object] = []
    sink = OutputSink(1, lambda report: (told.append(report), worker.deliver_again(report)))
    sink.write("stdout", "one\n")
    rig.settle()
    sink.write("stdout", "two\n")
    rig.settle()
    assert [each.text for each in rig.store.output(handle.id)] == ["one"]
    rig.advance(0.3)
    assert [each.text for each in rig.store.output(handle.id)] == ["one", "two"]
    rig.advance(0.3)
    sink.write("stdout", "three\n")
    rig.settle()
    assert len(told) == 2
    assert [each.text for each in handle.output()] == ["one", "two", "three"]


def test_whoever_asks_gets_everything_written_so_far(rig):
    """Without waiting for the next look."""
    handle, worker = rig.running()
    sink = OutputSink(1, worker.deliver_again)
    sink.write("stdout", "one\n")
    rig.settle()
    sink.write("stderr", "two\n")
    assert [(each.seq, each.text) for each in handle.output()] == [(1, "one"), (2, "two")]
    assert [each.text for each in rig.controller.output(handle.id, after=1)] == ["two"]
    assert [each.text for each in handle.output(tail=1)] == ["two"]


def test_a_worker_that_was_given_up_still_writes_to_its_attempt(rig):
    """Its lines carry its number, beside those of the attempt that followed."""
    handle, first = rig.running()
    sinks = [OutputSink(1, first.deliver_again)]
    rig.controller.stop(handle.id, graceful=False, wait=False)
    rig.advance(60)
    assert handle.status == "lost"
    rig.controller.retry(handle.id, force=True)
    rig.settle()
    second = rig.worker(handle)
    second.begin()
    sinks.append(OutputSink(2, second.deliver_again))
    for sink in sinks:
        sink.write("stdout", "here\n")
    assert [(each.attempt, each.seq) for each in handle.output()] == [(1, 1), (2, 2)]
    second.finish()
    rig.settle()


def test_a_look_that_is_due_outlives_the_attempt(rig):
    """What a worker wrote since the last look is there, though the record went on without it."""
    handle, worker = rig.running()
    sink = OutputSink(1, worker.deliver_again)
    sink.write("stdout", "one\n")
    rig.settle()
    sink.write("stdout", "two\n")
    rig.controller.force_transition(handle.id, "failed", reason="enough", actor="test")
    rig.advance(0.3)
    assert [each.text for each in rig.store.output(handle.id)] == ["one", "two"]


def test_a_reset_forgets_the_output(rig):
    """With the attempts; the numbers go on, so that whoever follows them does not go astray."""
    handle, worker = rig.running()
    OutputSink(1, worker.deliver_again).write("stdout", "old\n")
    worker.finish()
    rig.settle()
    rig.controller.reset(handle.id, confirm=True)
    assert handle.output() == []
    rig.controller.start(handle.id)
    rig.settle()
    rig.worker(handle).begin()
    OutputSink(1, rig.worker(handle).deliver_again).write("stdout", "new\n")
    assert [(each.seq, each.text) for each in handle.output()] == [(2, "new")]


def test_output_that_cannot_be_stored_holds_nothing_up(make_rig):
    """It waits, the status does not, and both are there once the store works again."""

    class Full(MemoryTaskStore):
        def append_output(self, lines, owner=None):
            if broken:
                raise OSError("no space left on device")
            super().append_output(lines, owner)

    broken = [True]
    rig = make_rig(Full())
    handle, worker = rig.running()
    OutputSink(1, worker.deliver_again).write("stdout", "kept\n")
    worker.finish()
    rig.settle()
    assert rig.store.get(handle.id).status == "succeeded"
    assert "no space left" in rig.controller.persist_failures[-1]
    broken.clear()
    rig.advance(2)
    assert [each.text for each in rig.store.output(handle.id)] == ["kept"]


def test_output_is_told_to_those_who_listen(rig):
    """One event a line, with its number; log lines are events of their own."""
    events: list[object] = []
    handle, worker = rig.running()
    rig.engine.bus.publish = lambda found, changed: events.extend(found)  # in this thread
    with rig.controller.watch(lambda event: None):
        sink = OutputSink(1, worker.deliver_again)
        sink.write("stdout", "printed\n")
        sink.write("log", "logged", 30)
        rig.settle()
    out, log = (event for event in events if isinstance(event, TaskOutput | TaskLogLine))
    assert (type(out), out.seq, out.stream, out.text, out.attempt) == (TaskOutput, 1, "stdout", "printed", 1)
    assert (type(log), log.seq, log.level, log.text) == (TaskLogLine, 2, 30, "logged")
    assert out.event_id == f"{handle.id}/output/1"


# the router


@pytest.fixture
def streams(monkeypatch):
    """A process where nobody captures: other tests may have left a controller open."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        monkeypatch.setattr(sys, name, stream._stream if isinstance(stream, capture._Router) else stream)
    call = logging.Logger.callHandlers  # put back at the end, whatever a test leaves there
    call = capture._capture.call_handlers if call is capture._call_handlers else call
    monkeypatch.setattr(logging.Logger, "callHandlers", call)
    monkeypatch.setattr(capture, "_capture", capture._Capture())


@pytest.fixture
def attempt(streams):
    """Begins attempts in this thread; the returned function ends the newest and gives its lines."""
    capture.start()
    marks = []

    def begin(**options):
        deliver = lambda report: None  # noqa: E731  # nobody is told
        request = AttemptRequest("id", "name", 1, print, pipeline_run_id="run", **options)
        context = TaskContext(request, CancellationToken(1, deliver), deliver)
        mark = capture.begin_attempt(context)
        marks.append(context)

        def end() -> list[tuple[str, str]]:
            capture.end_attempt(context, mark)
            batch = None if context._output is None else context._output.take()
            return [] if batch is None else [(line.stream, line.text) for line in batch.lines]

        return end

    yield begin
    capture.stop()


@pytest.mark.usefixtures("streams")
def test_everything_is_as_it_was_when_the_last_one_stops():
    """Streams and logging; the first one that stops changes nothing."""
    before = sys.stdout, sys.stderr, logging.Logger.callHandlers
    capture.start()
    capture.start()
    assert sys.stdout is not before[0]
    capture.stop()
    assert sys.stdout is not before[0]
    capture.stop()
    assert (sys.stdout, sys.stderr, logging.Logger.callHandlers) == before


def test_text_outside_of_tasks_passes_through(attempt, capsys):
    """Before, and after; attributes are those of the stream behind."""
    print("before")
    assert sys.stdout.encoding.lower() == "utf-8"
    end = attempt()
    print("inside")
    print("err", file=sys.stderr)
    assert end() == [("stdout", "inside"), ("stderr", "err")]
    print("after")
    assert capsys.readouterr() == ("before\nafter\n", "")


def test_a_stream_that_others_put_there_is_taken_into_account(attempt):
    """An attempt that redirects its own output gets it, also when another attempt begins meanwhile."""
    end = attempt()
    mine = io.StringIO()
    with contextlib.redirect_stdout(mine):
        print("mine")
        other = attempt()
        print("other's")
        assert other() == [("stdout", "other's")]
        print("mine again")
    print("own output")
    assert end() == [("stdout", "own output")]
    assert mine.getvalue() == "mine\nmine again\n"


def test_a_stream_put_there_for_good_does_not_end_the_capture(attempt, monkeypatch):
    """As pytest and notebooks do it: the next attempt's output is its own again."""
    theirs = io.StringIO()
    monkeypatch.setattr(sys, "stdout", theirs)
    end = attempt()
    print("task")
    assert end() == [("stdout", "task")]
    print("outside")
    assert theirs.getvalue() == "outside\n"


def test_a_write_that_others_set_sees_no_tasks_text(attempt, capsys):
    """IPython does so while a cell runs, and calls what it found there."""
    seen: list[str] = []
    found = sys.stdout.write
    sys.stdout.write = lambda text: (seen.append(text), found(text))[1]
    end = attempt()
    print("task")
    assert end() == [("stdout", "task")]
    print("outside")
    sys.stdout.write = found
    print("after")
    assert seen == ["outside", "\n"]
    assert capsys.readouterr().out == "outside\nafter\n"


@pytest.mark.usefixtures("streams")
def test_a_process_without_a_console(monkeypatch):
    """There sys.stdout is None, and stays None in the end; tasks' output is kept all the same."""
    monkeypatch.setattr(sys, "stdout", None)
    capture.start()
    print("nobody hears it")
    sys.stdout.flush()
    capture.stop()
    assert sys.stdout is None


def test_a_tasks_stream_behaves_like_one(attempt, capsys):
    """It is no terminal, takes bytes and lines, and nothing but text."""
    end = attempt()
    assert not sys.stdout.isatty()
    sys.stdout.flush()
    assert sys.stdout.write("four") == 4
    sys.stdout.writelines([" and", " more\n"])
    sys.stdout.buffer.write("bytes ä\n".encode())
    with pytest.raises(TypeError, match="must be str, not bytes"):
        sys.stdout.write(b"bytes")
    assert end() == [("stdout", "four and more"), ("stdout", "bytes ä")]


def test_log_records_are_told_whose_they_are(attempt, capsys):
    """Every handler sees it; what handlers print is not the task's output once more; nor does it get lost."""
    records: list[logging.LogRecord] = []
    logger = logging.getLogger("somebody.elses")
    logger.propagate = False
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: records.append(record) or True)
    logger.addHandler(handler)
    try:
        end = attempt()
        logger.warning("hello %s", "you")
        assert end() == [("log", "somebody.elses: hello you")]
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
    assert capsys.readouterr().err == "hello you\n"
    assert len(records) == 1


@pytest.mark.usefixtures("streams")
def test_a_logger_hooked_by_others_is_left_to_them(monkeypatch):
    """Somebody who hooks in after us is not undone, and never called in circles."""
    calls = []
    capture.start()
    ours = logging.Logger.callHandlers
    monkeypatch.setattr(logging.Logger, "callHandlers", lambda self, record: (calls.append(record), ours(self, record)))
    capture.stop()
    capture.start()
    logging.getLogger("x").warning("once")
    capture.stop()
    assert len(calls) == 1


def test_log_lines_keep_tracebacks_and_bad_arguments(attempt):
    """A traceback line by line; arguments that do not fit lose no line."""
    end = attempt()
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("lib").exception("failed")
    lines = [text for _, text in end()]
    assert lines[:2] == ["lib: failed", "Traceback (most recent call last):"]
    assert lines[-1] == "ValueError: why"
