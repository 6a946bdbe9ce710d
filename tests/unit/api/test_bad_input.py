"""Mistakes are refused at the call that makes them, with what to do; and nothing was started."""

from __future__ import annotations

import functools

import pytest

from chongming_task import (
    BucketPolicy,
    ConcurrencyPolicy,
    ConfigurationError,
    Controller,
    ControllerClosed,
    MemoryTaskStore,
    RetryPolicy,
    SqliteTaskStore,
    ThreadExecutor,
    Timeout,
    UnknownTask,
    task,
)
from chongming_task.testing import ManualDriver, ManualExecutor
from tests.support.rig import Rig


@task
def fetch(ctx, url, *, retries=3):
    """One required argument, one optional keyword."""


@task
def wide(ctx, *rows, **columns):
    """Takes anything."""


def greet(name, timeout=1):
    """Two parameters that options of submit are called like."""


class Odd:
    """Whose length cannot be had, nor its items."""

    def __iter__(self):
        raise TypeError("not today")


def late(n, ctx):
    """The context's parameter is not the first one."""


def renamed(context, n):
    """The context's parameter is called differently."""


SUBMISSIONS = [
    # target, positional, options, what the message must say
    (pow, (1, 2), {"retries": 3}, "did you mean the option retry=?"),
    (fetch, ("a",), {"timeouts": 3}, "did you mean the option timeout=?"),
    (fetch, ("a",), {"prioritty": 3}, "did you mean the option priority=?"),
    (late, (1,), {}, "the context goes to a first parameter named ctx or annotated TaskContext"),
    (renamed, (1,), {}, "missing a required argument: 'n'"),
    (renamed, (), {"n": 1}, "the context goes to a first parameter named ctx or annotated TaskContext"),
    (fetch, (), {}, "missing a required argument: 'url'"),
    (fetch, ("a", "b"), {}, "too many positional arguments"),
    (fetch, ("a",), {"colour": 1}, "unexpected keyword argument 'colour'"),
    (fetch, ("a",), {"ctx": 1}, "leave it out"),
    (fetch, ("context", "a"), {}, "leave it out"),
    (wide, (), {"ctx": 1}, "leave it out"),
    (fetch, ("a",), {"args": ("b",)}, "not both"),
    (fetch, (), {"args": "a"}, "args=\\('a',\\)"),
    (fetch, (), {"args": 5}, "args=\\(5,\\)"),
    (fetch, (), {"args": Odd()}, "args takes a tuple"),
    (fetch, ("a",), {"kwargs": [1]}, "kwargs takes a mapping"),
    (fetch, ("a",), {"kwargs": {1: 2}}, "kwargs takes a mapping"),
    (fetch, ("a",), {"timeout": 3}, "write timeout=Timeout(per_attempt=3)"),
    (fetch, ("a",), {"timeout": "3 s"}, "write timeout=Timeout(...)"),
    (fetch, ("a",), {"timeout": 3}, 'kwargs={"timeout": ...}'),
    (fetch, ("a",), {"retry": 3}, "write retry=RetryPolicy(max_attempts=3)"),
    (fetch, ("a",), {"tags": "db"}, 'write tags={"db"}'),
    (fetch, ("a",), {"tags": 5}, "collection of text"),
    (fetch, ("a",), {"tags": [5]}, "tags are text"),
    (fetch, ("a",), {"tags": [["db"]]}, "collection of text"),
    (fetch, ("a",), {"priority": "high"}, "whole number"),
    (fetch, ("a",), {"priority": 1.5}, "whole number"),
    (fetch, ("a",), {"priority": True}, "whole number"),
    (fetch, ("a",), {"name": ""}, "non-empty text"),
    (fetch, ("a",), {"name": "  "}, "non-empty text"),
    (fetch, ("a",), {"name": 5}, "non-empty text"),
    (fetch, ("a",), {"bucket_key": 5}, "bucket_key must be text"),
    (greet, (), {"name": "ana"}, 'kwargs={"name": ...}'),
    (greet, (), {"name": 5}, 'kwargs={"name": ...}'),
    (greet, ("ana",), {"timeout": 3}, 'kwargs={"timeout": ...}'),
    (None, (), {}, "made from a function"),
    (5, (), {}, "made from a function"),
    (5, (), {}, "submit(add, 1), not submit(add(1))"),
    (functools.partial(greet, "ana", 2), (3,), {}, "too many positional arguments"),
]


@pytest.mark.parametrize(("target", "positional", "options", "said"), SUBMISSIONS)
def test_a_wrong_submission_is_refused_before_it_exists(rig, target, positional, options, said):
    """The message names the mistake and the right line; no record was made."""
    with pytest.raises(ConfigurationError) as refused:
        rig.controller.submit(target, *positional, **options)
    assert said.replace("\\", "") in str(refused.value)
    assert sum(rig.controller.counts().values()) == 0
    assert rig.executor.launched == []


@pytest.mark.parametrize("call", [((), {}), (("a",), {"colour": 1}), (("a",), {"timeouts": 3})])
def test_the_context_is_not_blamed_for_other_mistakes(rig, call):
    """Only where one argument too many, or its name, says that somebody wanted to pass it."""
    with pytest.raises(ConfigurationError) as refused:
        rig.controller.submit(fetch, *call[0], **call[1])
    assert "context" not in str(refused.value)


def test_an_argument_named_like_an_option_goes_into_kwargs(rig):
    """And then both are what they were meant to be."""
    handle = rig.submit(greet, kwargs={"name": "ana", "timeout": 9}, name="greeting", timeout=Timeout(idle=5))
    assert handle.name == "greeting"
    assert rig.worker(handle).request.kwargs == {"name": "ana", "timeout": 9}


@pytest.mark.parametrize(
    ("asked", "said"),
    [("fetsch", "did you mean 'fetch'"), ("nothing like it", "registered: fetch, wide"), ("", "registered: fetch")],
)
def test_an_unknown_name_is_told_with_a_suggestion(rig, asked, said):
    """What looks alike, or what there is."""
    rig.controller.register_all(fetch, wide)
    with pytest.raises(UnknownTask, match=said):
        rig.controller.submit(asked, 1)
    assert rig.controller.list_tasks() == []


def test_no_name_is_known_before_one_is_registered(rig):
    """The message says how."""
    with pytest.raises(UnknownTask, match="register"):
        rig.controller.submit("fetch", "a")


def test_a_name_that_belongs_to_another_function_is_kept(rig):
    """Two functions of one name would run the wrong one; the same function again renews it."""
    rig.controller.register(fetch)
    with pytest.raises(ConfigurationError, match="name="):
        rig.controller.register(wide, name="fetch")
    rig.controller.register(fetch.with_options(priority=4))
    assert rig.submit("fetch", args=["u"]).snapshot.priority == 4


CONTROLLERS = [
    ({"executor": "threads"}, "thread, process, inline"),
    ({"executor": "threads"}, "did you mean 'thread'?"),
    ({"executor": 5}, "executor"),
    ({"executor": ThreadExecutor}, "executor"),
    ({"store": "mysql://host/database"}, "no store for mysql://"),
    ({"store": 5}, "store"),
    ({"store": MemoryTaskStore}, "store"),
    ({"store": "runs\0.db"}, "path"),
    ({"lease_ttl": 0}, "lease_ttl"),
    ({"lease_ttl": float("nan")}, "lease_ttl"),
    ({"max_parallel": 3, "concurrency": ConcurrencyPolicy()}, "not both"),
    ({"owner": ""}, "non-empty"),
    ({"owner": 5}, "non-empty"),
    ({"max_parallel": 0}, "max_parallel"),
    ({"max_parallel": "many"}, "max_parallel"),
    ({"max_parallel_per_bucket": 0}, "max_parallel_per_bucket"),
    ({"concurrency": 5}, "ConcurrencyPolicy"),
    ({"concurrency": {"max_parallel": 5}}, "ConcurrencyPolicy"),
    ({"bucket_policy": 64}, "BucketPolicy"),
    ({"owned_buckets": [64]}, "owned_buckets"),
    ({"owned_buckets": ["a"]}, "owned_buckets"),
    ({"owned_buckets": 5}, "owned_buckets"),
    ({"keep_terminal": -1}, "keep_terminal"),
    ({"keep_terminal": "all"}, "keep_terminal"),
]


@pytest.mark.parametrize(("options", "said"), CONTROLLERS)
def test_a_controller_that_cannot_work_is_not_made(options, said):
    """It leaves no thread behind either."""
    if "executor" not in options:
        options = {**options, "executor": ManualExecutor()}
    with pytest.raises(ConfigurationError, match=said):
        Controller(**options, driver=ManualDriver())


DECORATIONS = [
    ({"priority": "high"}, "whole number"),
    ({"tags": "db"}, "write tags"),
    ({"tags": 5}, "collection"),
    ({"retry": 3}, "RetryPolicy"),
    ({"timeout": 3}, "Timeout"),
    ({"name": ""}, "non-empty"),
    ({"name": 5}, "non-empty"),
]


@pytest.mark.parametrize(("options", "said"), DECORATIONS)
def test_a_wrong_decoration_is_refused_where_it_stands(options, said):
    """At decoration, and just so with other options later."""
    with pytest.raises(ConfigurationError, match=said):
        task(**options)(print)
    with pytest.raises(ConfigurationError, match=said):
        fetch.with_options(**options)


def test_only_functions_can_be_tasks():
    """``@task("name")`` is a slip for ``@task(name="name")``."""
    with pytest.raises(ConfigurationError, match="made from a function"):
        task("name")


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "5", None, True, 1e300])
@pytest.mark.parametrize("verb", ["stop", "pause", "cancel"])
def test_a_patience_that_is_none_is_refused(rig, verb, value):
    """No number of seconds, no verb."""
    handle, _ = rig.running()
    with pytest.raises(ConfigurationError, match="number of seconds"):
        getattr(handle, verb)(timeout=value)
    if value is not None:  # which is the default here
        with pytest.raises(ConfigurationError, match="number of seconds"):
            rig.controller.ask(verb, [handle.id], actor="user", done=print, timeout=value)
    assert handle.status == "running"


@pytest.mark.parametrize(
    ("to", "reason", "actor"),
    [
        ("succeeded", "", "ana"),
        ("succeeded", "  ", "ana"),
        ("succeeded", "r", ""),
        ("succeeded", None, "ana"),
        ("succeeded", "r", 5),
        ("done", "r", "ana"),
        (None, "r", "ana"),
    ],
)
def test_an_override_needs_a_status_a_reason_and_an_actor(rig, to, reason, actor):
    """All three, in words."""
    handle = rig.submit()
    with pytest.raises(ConfigurationError):
        handle.force_transition(to, reason=reason, actor=actor)
    assert (handle.status, handle.snapshot.overridden) == ("starting", False)


@pytest.mark.parametrize("verb", ["explode", "", None])
def test_an_unknown_verb_is_told(rig, verb):
    """With the verbs there are."""
    handle = rig.submit()
    with pytest.raises(ConfigurationError, match="start, stop"):
        handle.can(verb)
    with pytest.raises(ConfigurationError, match="start, stop"):
        rig.controller.ask(verb, [handle.id], actor="user", done=print)


@pytest.mark.parametrize("option", ["reason", "actor"])
def test_words_that_are_none_are_refused(rig, option):
    """They go into the audit trail."""
    handle = rig.submit()
    with pytest.raises(ConfigurationError, match=option):
        rig.controller.stop(handle.id, **{option: 5})
    assert handle.status == "starting"


def test_a_reset_must_be_confirmed(rig):
    """It forgets."""
    handle = rig.submit(start=False)
    with pytest.raises(ConfigurationError, match="confirm=True"):
        handle.reset()


@pytest.mark.parametrize("question", [{"status": "done"}, {"status": ["done"]}, {"limit": -1}])
def test_a_question_that_cannot_be_answered(rig, question):
    """An unknown status, a negative number of records."""
    with pytest.raises(ConfigurationError):
        rig.controller.list_tasks(**question)


def test_texts_are_made_safe_before_they_are_stored(rig):
    """Names, tags, keys, reasons, actors: the same in every store, and short."""
    nasty = "a\x00b\ud800" + "x" * 20_000
    handle = rig.submit(name=nasty, tags=[nasty], bucket_key=nasty)
    rig.controller.stop(handle.id, reason=nasty, actor=nasty, wait=False)
    rig.worker(handle).checkpoint()
    rig.settle()
    stored, trail = rig.store.get(handle.id), rig.store.transitions(handle.id)
    texts = [stored.name, *stored.tags, stored.bucket_key, stored.owner]
    texts += [word for edge in trail for word in (edge.reason, edge.actor) if word]
    assert all("\x00" not in text and "\ud800" not in text and len(text) <= 10_000 for text in texts)
    assert max(map(len, [stored.name, *stored.tags, stored.bucket_key])) <= 200
    assert any(text.startswith("a␀b�") for text in texts)
    assert stored.bucket == BucketPolicy().bucket_for(nasty)


def test_a_bucket_of_another_controller_is_refused():
    """It would wait there for ever."""
    policy = BucketPolicy(4)
    rig = Rig(bucket_policy=policy, owned_buckets=[policy.bucket_for("mine")])
    foreign = next(str(i) for i in range(100) if policy.bucket_for(str(i)) != policy.bucket_for("mine"))
    with pytest.raises(ConfigurationError, match="does not own"):
        rig.submit(print, bucket_key=foreign)
    assert rig.submit(print, bucket_key="mine").snapshot.bucket == policy.bucket_for("mine")
    rig.end()


def test_everything_but_reading_is_refused_after_close(rig):
    """Submissions and verbs raise; records can still be looked at."""
    handle, worker = rig.running(retry=RetryPolicy(2))
    worker.report(1, 2)
    rig.settle()
    rig.executor.launched[0].stop = lambda reason: worker.finish("late")
    report = rig.controller.close()
    assert report.ended == (handle.id,)
    with pytest.raises(ControllerClosed):
        rig.controller.submit(print)
    for verb in ["start", "stop", "pause", "resume", "cancel", "retry", "skip"]:
        with pytest.raises(ControllerClosed):
            getattr(handle, verb)()
    with pytest.raises(ControllerClosed):
        handle.reset(confirm=True)
    with pytest.raises(ControllerClosed):
        handle.force_transition("failed", reason="r", actor="a")
    with pytest.raises(ControllerClosed):
        rig.controller.ask("stop", [handle.id], actor="user", done=print)
    with pytest.raises(ControllerClosed):
        rig.controller.watch(print)
    assert handle.result() == "late"
    assert rig.controller.get(handle.id).status == "succeeded"
    assert rig.controller.counts()["succeeded"] == 1
    assert [task.task_id for task in rig.controller.list_tasks()] == [handle.id]
    assert len(handle.attempts) == 1
    assert handle.transitions[-1].to_status == "succeeded"
    assert rig.controller.waiting_for(handle.id) == []
    assert handle.can("reset") == (True, None)
    assert "closed" in repr(rig.controller)
    with pytest.raises(UnknownTask):
        rig.controller.get("nobody")
    assert rig.controller.close() == type(report)()
    assert rig.executor.closed


@pytest.mark.parametrize("timeout", ["5", -1, True, float("nan")])
@pytest.mark.parametrize("wait", ["wait", "result", "exception", "wait_for", "wait_all"])
def test_patience_is_a_number_of_seconds(rig, wait, timeout):
    """As for stop; the task notices nothing."""
    handle, _ = rig.running()
    with pytest.raises(ConfigurationError, match="timeout must be a number of seconds"):
        getattr(rig.controller if wait == "wait_all" else handle, wait)(timeout=timeout)


@pytest.mark.parametrize("tail", [-1, "5", 1.5])
def test_a_tail_is_a_number_of_lines(rig, tail):
    """In the caller's word for it."""
    with pytest.raises(ConfigurationError, match="tail must be"):
        rig.submit().output(tail=tail)


def test_a_closed_controller_is_not_entered_again():
    """Its block would only fail later."""
    with Controller(executor=ManualExecutor(), driver=ManualDriver(), capture=False) as controller:
        pass
    with pytest.raises(ControllerClosed, match="make a new one"):
        controller.__enter__()


@pytest.mark.parametrize(
    "options", [{"owned_buckets": [64]}, {"bucket_policy": BucketPolicy(7)}, {"owner": "me", "owned_buckets": [1]}]
)
def test_a_controller_that_cannot_be_made_leaves_nothing_open(tmp_path, options, monkeypatch):
    """The store it has opened is closed; one that its caller has made is not. Nor does a thread run on."""
    path = tmp_path / "runs.db"
    with Controller(path, owner="me", bucket_policy=BucketPolicy(64)) as controller:
        controller.submit(len, args=("abc",))
        close, closed = SqliteTaskStore.close, []
        monkeypatch.setattr(SqliteTaskStore, "close", lambda store: (closed.append(store), close(store)))
        with pytest.raises(ConfigurationError):
            Controller(path, **options)
        assert len(closed) == 1
        mine = SqliteTaskStore(path)
        with pytest.raises(ConfigurationError):
            Controller(mine, **options)
        assert mine not in closed
        mine.close()
