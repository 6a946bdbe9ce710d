"""Results that are no JSON: kept by codecs as files, or in memory; what is stored, and what comes back."""

from __future__ import annotations

import copy
import json
import math
import pickle
from datetime import UTC, datetime
from functools import partial

import pytest

from chongming_task import (
    ConfigurationError,
    Controller,
    FailureKind,
    InlineExecutor,
    ResultInvalid,
    ResultUnavailable,
    RetryPolicy,
    TaskExecutionError,
    task,
)
from chongming_task.core.results import MARK, to_json
from chongming_task.runtime.artifacts import Artifacts
from chongming_task.runtime.codecs import BUILT_IN
from chongming_task.runtime.results import CodecResults, MemoryResults, load_result


class BytesCodec:
    """Keeps bytes."""

    name = "bytes"

    def accepts(self, value):
        return isinstance(value, bytes)

    def save(self, value, folder):
        (folder / "value.bin").write_bytes(value)
        return {"bytes": len(value)}

    def load(self, pointer, folder):
        return (folder / "value.bin").read_bytes()


class Reversed(BytesCodec):
    """A second codec for the same values."""

    name = "reversed"

    def load(self, pointer, folder):
        return super().load(pointer, folder)[::-1]


class Failing(BytesCodec):
    """Cannot write, for the reason it is given."""

    name = "failing"

    def __init__(self, error):
        self.error = error

    def save(self, value, folder):
        raise self.error


CODECS = (BytesCodec(),)


@pytest.fixture
def folder(tmp_path):
    return partial(Artifacts(tmp_path, "task", 1).new_folder, "result")


def no_folder():
    raise AssertionError("JSON needs no folder")


# codecs


@pytest.mark.parametrize("value", [None, 1, "x", [1, {"a": (2, 3)}], {}])
def test_json_is_stored_as_it_is(value):
    """No codec is asked, and no folder made."""
    assert CodecResults(CODECS).keep(value, no_folder) == to_json(value)
    assert load_result(to_json(value), CODECS) == to_json(value)


def test_a_kept_value_is_a_pointer_in_the_record(folder, tmp_path):
    """JSON that tells a reader what it is and where."""
    outcome = CodecResults(CODECS).keep(b"abc", folder)
    assert json.loads(json.dumps(outcome)) == outcome
    assert outcome == {
        MARK: "file",
        "codec": "bytes",
        "folder": "task/1/result",
        "base": str(tmp_path),
        "type": "builtins.bytes",
        "pointer": {"bytes": 3},
    }
    assert load_result(outcome, CODECS) == b"abc"


def test_values_are_kept_wherever_they_stand(folder):
    """Each in a folder of its own; what is around them comes back as JSON does."""
    outcome = CodecResults(CODECS).keep({"a": [b"1", {"b": b"2"}], "c": (3, b"")}, folder)
    assert outcome[MARK] == "json"
    assert load_result(json.loads(json.dumps(outcome)), CODECS) == {"a": [b"1", {"b": b"2"}], "c": [3, b""]}


def test_what_is_kept_is_found_under_another_base(folder, tmp_path):
    """Files that were moved with their database, or are mounted elsewhere."""
    outcome = CodecResults(CODECS).keep(b"abc", folder)
    moved = tmp_path.parent / f"{tmp_path.name}-moved"
    tmp_path.rename(moved)
    assert load_result(outcome, CODECS, str(moved)) == b"abc"
    with pytest.raises(ResultUnavailable, match="gone, or on another machine: looked for"):
        load_result(outcome, CODECS)


def test_a_file_that_is_gone_is_told(folder, tmp_path):
    """The value cannot be had; the record is sound."""
    outcome = CodecResults(CODECS).keep(b"abc", folder)
    (tmp_path / outcome["folder"] / "value.bin").unlink()
    with pytest.raises(ResultUnavailable, match=r"file is gone.*value\.bin"):
        load_result(outcome, CODECS)


def test_a_codec_that_is_not_here_is_named(folder):
    """With what to write."""
    outcome = CodecResults(CODECS).keep(b"abc", folder)
    with pytest.raises(ResultUnavailable, match=r"codec 'bytes'.*Controller\(result_codecs="):
        load_result(outcome, BUILT_IN)


@pytest.mark.parametrize("escape", ["../secret", "{parent}/secret", "task/../../secret", "..\\secret", "", "."])
def test_a_forged_pointer_leads_nowhere(folder, tmp_path, escape):
    """Whoever can write to the database gains no files: these hold what the codec looks for."""
    for place in (tmp_path.parent / "secret", tmp_path):
        place.mkdir(exist_ok=True)
        (place / "value.bin").write_bytes(b"secret")
    forged = {"folder": escape.format(parent=tmp_path.parent)}
    with pytest.raises((ConfigurationError, ResultUnavailable)):
        load_result(CodecResults(CODECS).keep(b"abc", folder) | forged, CODECS)


def test_a_pointer_through_a_link_leads_nowhere(folder, tmp_path):
    """Neither by a symbolic link."""
    outcome = CodecResults(CODECS).keep(b"abc", folder)
    (tmp_path.parent / "value.bin").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path.parent)
    with pytest.raises(ResultUnavailable):
        load_result(outcome | {"folder": "link"}, CODECS)


def test_a_pointer_of_a_later_version_is_told():
    """Not shown as a value."""
    with pytest.raises(ResultUnavailable, match="hologram"):
        load_result({MARK: "hologram"}, CODECS)


@pytest.mark.parametrize("value", [{MARK: "file"}, [{"a": {MARK: 1}}]])
def test_a_result_cannot_pretend_to_be_a_pointer(value, folder):
    """The key is reserved."""
    with pytest.raises(ResultInvalid, match="reserved"):
        CodecResults(CODECS).keep(value, folder)


def test_a_codec_cannot_write_a_pointer_that_is_no_json(folder):
    """What it says of the file is stored, too."""

    class Chatty(BytesCodec):
        def save(self, value, folder):
            return {"when": datetime.now(UTC)}

    with pytest.raises(ResultInvalid, match=r"bytes at \$.*datetime"):
        CodecResults((Chatty(),)).keep(b"", folder)


def test_the_refusal_tells_every_way_out(folder):
    """Plain values, a codec, memory, a file of one's own; and the place."""
    with pytest.raises(ResultInvalid) as caught:
        CodecResults(BUILT_IN).keep({"a": [object()]}, folder)
    words = str(caught.value)
    for part in ("builtins.object at $.a[0]", "parquet, npy", "result_codecs=", 'result="memory"', "ctx.artifacts"):
        assert part in words


@pytest.mark.parametrize("value", [math.nan, {"a": math.inf}, {1: 2}, {"a": [b"x", math.nan]}])
def test_json_stays_strict_beside_codecs(value, folder):
    """No codec makes NaN or keys of numbers storable."""
    with pytest.raises(ResultInvalid, match="JSON"):
        CodecResults(CODECS).keep(value, folder)


def test_scalars_of_numpy_are_plain_numbers(folder):
    """What a sum of a column is; not times, which have no number."""
    np = pytest.importorskip("numpy")
    values = [np.int64(3), np.uint8(255), np.bool_(True), np.float32(0.5), np.float64(1.5)]
    made = CodecResults(BUILT_IN).keep(values, folder)
    assert [(type(each), each) for each in made] == [(int, 3), (int, 255), (bool, True), (float, 0.5), (float, 1.5)]
    assert CodecResults(BUILT_IN).keep(np.int64(3), folder) == 3
    with pytest.raises(ResultInvalid, match="nan"):
        CodecResults(BUILT_IN).keep(np.float32("nan"), folder)
    for value in (np.timedelta64(1, "s"), np.datetime64("2024-01-01"), np.complex64(1)):
        with pytest.raises(ResultInvalid, match=r"numpy\."):
            CodecResults(BUILT_IN).keep(value, folder)


def test_policies_and_codecs_cross_to_other_processes():
    """As plain data."""
    for policy in (CodecResults(BUILT_IN), MemoryResults()):
        assert type(pickle.loads(pickle.dumps(policy))) is type(policy)


# through a controller


def test_a_controller_asks_its_own_codecs_first(tmp_path):
    """In their order; by name when it reads."""
    with Controller(artifacts=tmp_path, result_codecs=[Reversed(), *CODECS]) as controller:
        handle = controller.submit(lambda: b"abc")
        assert handle.result(timeout=30) == b"cba"
        assert handle.snapshot.outcome["codec"] == "reversed"
        assert controller.result(handle.id) == b"cba"


@pytest.mark.parametrize("codec", [object(), BytesCodec, "parquet", None])
def test_what_is_no_codec_is_refused(codec):
    """At the controller, not at the first result."""
    with pytest.raises(ConfigurationError, match="result_codecs takes objects"):
        Controller(result_codecs=[codec])


def test_a_value_that_a_codec_cannot_keep_is_an_invalid_result(tmp_path):
    """It is never retried: it would be the same again."""
    with Controller(artifacts=tmp_path, result_codecs=[Failing(ValueError("too odd"))]) as controller:
        handle = controller.submit(lambda: b"", retry=RetryPolicy(max_attempts=3))
        with pytest.raises(ResultInvalid, match="too odd"):
            handle.result(timeout=30)
        assert handle.failure.kind is FailureKind.RESULT_INVALID
        assert "codec 'failing' cannot keep it: ValueError: too odd" in handle.failure.message
        assert handle.snapshot.attempt == 1


def test_a_disk_that_is_full_is_an_exception_and_retried(tmp_path):
    """The value is fine; another attempt may have room."""
    with Controller(artifacts=tmp_path, result_codecs=[Failing(OSError(28, "No space left"))]) as controller:
        handle = controller.submit(lambda: b"", retry=RetryPolicy(max_attempts=2))
        with pytest.raises(OSError, match="No space"):
            handle.result(timeout=30)
        assert handle.failure.kind is FailureKind.EXCEPTION
        assert handle.snapshot.attempt == 2


def test_the_result_of_a_record_that_failed_is_its_exception(tmp_path):
    """By id as by handle; of a record without a live handle, what the store knows."""

    def fail():
        raise ZeroDivisionError("oh")

    with Controller(artifacts=tmp_path) as controller:
        handle = controller.submit(fail)
        with pytest.raises(ZeroDivisionError):
            controller.result(handle.id, timeout=30)
        assert controller.result(controller.submit(pow, 2, 3).id, timeout=30) == 8
        with pytest.raises(TaskExecutionError, match=r"' failed: oh"):
            controller._values.of(handle.snapshot)


def test_a_record_that_has_not_ended_has_no_result_elsewhere(tmp_path):
    """Nothing is waited for that this process does not run."""
    with Controller(artifacts=tmp_path) as controller:
        handle = controller.submit(pow, args=(2, 3), start=False)
        with pytest.raises(TaskExecutionError, match="has not ended: it is pending"):
            controller._values.of(handle.snapshot)
        handle.cancel()


# memory


class Model:
    """Something no codec keeps."""

    def __repr__(self):
        return "Model(" + "x" * 5_000 + "\x00)"


@task(result="memory")
def train():
    return Model()


def test_memory_gives_the_very_object_back():
    """And the record says what it is, cleaned and short."""
    with Controller() as controller:
        handle = controller.submit(train)
        model = handle.result(timeout=30)
        assert isinstance(model, Model)
        assert handle.result() is model
        assert controller.result(handle.id) is model
        outcome = handle.snapshot.outcome
        assert outcome[MARK] == "memory"
        assert outcome["type"].endswith("test_results.Model")
        assert len(outcome["repr"]) <= 1_000
        assert "\x00" not in outcome["repr"]
        json.dumps(outcome)


@pytest.mark.parametrize("cross", [pickle.dumps, json.dumps], ids=["pickle", "json"])
def test_memory_is_told_apart_in_another_process(cross):
    """What a store or a pipe carries is the plain dict: it says what was there, and that it is not here."""
    read = {pickle.dumps: pickle.loads, json.dumps: json.loads}[cross]
    outcome = read(cross(MemoryResults().keep({1, 2}, no_folder)))
    assert type(outcome) is dict
    with pytest.raises(ResultUnavailable, match=r"builtins\.set.*memory of the process.*\{1, 2\}"):
        load_result(outcome, CODECS)


def test_memory_keeps_what_json_would_change():
    """The door is chosen by the task, not by the value."""
    for value in ((1, 2), math.nan, {1: 2}, None, {MARK: "file"}):
        outcome = MemoryResults().keep(value, no_folder)
        assert load_result(outcome, CODECS) is value
        assert load_result(copy.copy(outcome), CODECS) is value
        assert load_result(copy.deepcopy(outcome), CODECS) is value


def test_memory_stands_a_broken_repr():
    """The value counts, not its text."""

    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    outcome = MemoryResults().keep(Broken(), no_folder)
    assert "repr raised RuntimeError" in outcome["repr"]


def test_a_task_says_how_its_result_is_kept():
    """With other options, or inline; any other word is refused where it stands."""
    assert train.with_options(name="other").spec.results is train.spec.results
    plain = train.with_options(result="json")
    with Controller(executor=InlineExecutor()) as controller:
        assert isinstance(controller.submit(train).result(), Model)
        with pytest.raises(ResultInvalid, match='result="memory"'):
            controller.submit(plain).result()
    with pytest.raises(ConfigurationError, match='"json" or "memory"'):
        task(result="pickle")(print)


def test_memory_needs_an_executor_that_shares_it():
    """Refused at submission: in a process of its own the object would be gone with it."""

    class Elsewhere(InlineExecutor):
        name = "elsewhere"
        shares_memory = False

    with Controller(executor=Elsewhere()) as controller:
        with pytest.raises(ConfigurationError, match=r'"elsewhere".*executor="thread"'):
            controller.submit(train)
        assert controller.submit(pow, 2, 3).result() == 8
