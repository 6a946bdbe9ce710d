"""Restartable tasks: what a submission stores, which task a name stands for, and how a record comes back to life."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace

import pytest

from chongming_task import (
    BucketPolicy,
    ConcurrencyPolicy,
    ConfigurationError,
    FixedBackoff,
    NotRestartable,
    RetryPolicy,
    TaskError,
    TaskRegistry,
    Timeout,
    task,
)
from chongming_task.api.submission import Options
from chongming_task.core.output import OutputMode
from chongming_task.runtime.results import MemoryResults
from chongming_task.testing import ManualExecutor
from tests.support.rig import Rig


@task(restartable=True, retry=RetryPolicy(3, backoff=FixedBackoff(7)), timeout=Timeout(idle=30), tags={"db"})
def train(ctx, rows, *, depth=1):
    """What the records here are made of."""


@task
def plain(ctx, rows, depth=1):
    """The same, without a promise."""


@task(restartable=True)
def greet(name, timeout=1):
    """Two parameters that options of submit are called like."""


@pytest.fixture
def other():
    """A controller of another process, which knows nothing yet."""
    made = Rig()
    yield made
    made.end()


def revive(rig, snapshot, **more):
    return rig.controller._submissions.revive(snapshot, **more)


def stored(rig, target=train, *args, **options):
    """The record of a submission, as the store holds it."""
    return rig.store.get(rig.submit(target, args=args or ([1],), **options).id)


# the declaration


def test_a_task_is_restartable_when_it_says_so(rig):
    """And stays so with other options, and registered by name."""
    assert (train.spec.restartable, plain.spec.restartable) == (True, False)
    assert train.with_options(name="other").spec.restartable is True
    assert train.with_options(restartable=False).spec.restartable is False
    assert plain.with_options(restartable=True).spec.restartable is True
    assert rig.controller.register(train, name="other").restartable is True
    assert rig.controller.registry.get("other").restartable is True


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_restartable_is_yes_or_no(value):
    """Nothing in between."""
    with pytest.raises(ConfigurationError, match="restartable must be True or False"):
        task(restartable=value)(print)
    if value is not None:  # which leaves what is there
        with pytest.raises(ConfigurationError, match="restartable must be True or False"):
            plain.with_options(restartable=value)


def test_a_lambda_needs_a_name():
    """All of them have the same one, so another process would run any of them."""
    with pytest.raises(ConfigurationError, match=r"write task\(name=\.\.\., restartable=True\)\(lambda \.\.\.\)"):
        task(restartable=True)(lambda: 1)
    with pytest.raises(ConfigurationError, match="every lambda has the same"):
        task(lambda: 1).with_options(restartable=True)
    assert task(name="one", restartable=True)(lambda: 1).spec.name == "one"


# the submission


def test_the_arguments_are_stored_with_the_record(rig):
    """However they were written; also with no arguments at all."""
    assert stored(rig, train, [1], kwargs={"depth": 2}).inputs == {"args": [[1]], "kwargs": {"depth": 2}}
    assert stored(rig, train.with_options(name="two"), {"a": None}).inputs == {"args": [{"a": None}], "kwargs": {}}
    assert rig.submit(task(restartable=True, name="nothing")(lambda: 1)).snapshot.inputs == {"args": [], "kwargs": {}}
    assert rig.controller.map(train, [[1], [2]], depth=3)[1].snapshot.inputs == {"args": [[2]], "kwargs": {"depth": 3}}


def test_nothing_is_stored_of_other_tasks(rig):
    """Whose arguments may be anything."""
    assert stored(rig, plain, object()).inputs is None
    assert stored(rig, train.with_options(restartable=False), object()).inputs is None


def test_the_task_runs_with_the_very_values_given(rig):
    """And what it does to them does not reach the record."""
    rows = [1]
    handle = rig.submit(train, args=(rows,))
    assert rig.worker(handle).request.args[0] is rows
    rows.append(2)
    assert rig.store.get(handle.id).inputs["args"] == [[1]]


def test_a_timeout_of_the_submission_is_stored_and_the_tasks_own_is_not(rig):
    """The task's own is found with the task."""
    assert stored(rig, train, timeout=Timeout(per_attempt=9, grace=1)).inputs["timeout"] == {
        "start": None,
        "per_attempt": 9,
        "idle": None,
        "grace": 1,
    }
    assert "timeout" not in stored(rig).inputs


@pytest.mark.parametrize("by_name", [False, True])
def test_arguments_that_would_not_come_back_are_refused(rig, by_name):
    """Before there is a record, and before the task is registered."""
    target = train
    if by_name:
        rig.controller.register(train)
        target = "train"
    with pytest.raises(ConfigurationError, match=r"argument 1 of train is a tuple: .*; pass a list, or leave"):
        rig.submit(target, args=((1, 2),))
    with pytest.raises(ConfigurationError, match="argument 'depth' of train is a set"):
        rig.submit(target, args=([1],), kwargs={"depth": {1}})
    assert rig.controller.list_tasks() == []
    assert ("train" in rig.controller.registry) is by_name


def test_a_refusal_of_an_argument_says_nothing_of_options(rig):
    """Although the task has parameters called like some."""
    with pytest.raises(ConfigurationError, match=r"leave restartable=True away$"):
        rig.submit(greet, args=((),))


# which task the name stands for


def test_a_submission_registers_its_task(rig):
    """So that this process finds it again; others have to be told. Plain functions are forgotten as ever."""
    rig.submit(train, args=([1],))
    rig.submit(plain, args=([1],))
    rig.submit(print)
    assert list(rig.controller.registry) == ["train"]
    rig.submit("train", args=([1],))


def cell(version, **options):
    """A cell of a notebook that defines a task, run once more with every call."""

    @task(restartable=True, **options)
    def work(ctx):
        return version

    return work


def test_a_cell_that_ran_again_renews_its_task(rig):
    """The newest definition is meant, whether the older one was registered or submitted."""
    registry = rig.controller.registry
    rig.submit(cell(1))
    rig.submit(cell(2))
    assert registry.get("work").function(None) == 2
    registry.register(cell(3))
    rig.submit(cell(4))
    assert registry.get("work").function(None) == 4


def test_another_task_of_that_name_is_refused(rig):
    """Its records would run the wrong one, after a restart; nothing was started."""
    rig.submit(cell(1))
    with pytest.raises(
        ConfigurationError, match=r"the name 'work' belongs to <function cell\.<locals>\.work"
    ) as caught:
        rig.submit(train.with_options(name="work"), args=([1],))
    assert "with_options(name=...)" in str(caught.value)
    assert len(rig.controller.list_tasks()) == 1
    with pytest.raises(ConfigurationError, match="belongs to"):
        rig.controller.register(train, name="work")


def test_a_submission_with_other_options_leaves_what_was_registered():
    """Said once and for all by register; where nobody did, the newest submission is the best there is."""
    registry, work = TaskRegistry(), cell(1)
    registry.register(work)
    registry.remember(work.with_options(priority=5).spec)
    assert registry.get("work").priority is None
    registry = TaskRegistry()
    registry.remember(work.spec)
    registry.remember(work.with_options(priority=5).spec)
    assert registry.get("work").priority == 5
    registry.register(work)
    registry.remember(work.with_options(priority=5).spec)
    assert registry.get("work").priority is None


class Slow(str):
    """A name that is looked up by two threads at once, whenever the registry lets them."""

    __slots__ = ("both",)

    def __hash__(self):
        with contextlib.suppress(threading.BrokenBarrierError):
            self.both.wait(0.2)
        return super().__hash__()


def test_two_threads_cannot_take_one_name():
    """One of them is refused, although both were looking at the same time."""
    registry, both, refused = TaskRegistry(), threading.Barrier(2), []

    def take(function):
        name = Slow("one")
        name.both = both
        try:
            registry.remember(replace(task(function).spec, name=name))
        except ConfigurationError:
            refused.append(function)

    threads = [threading.Thread(target=take, args=(each,)) for each in (len, abs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [*refused, registry.get("one").function] in ([len, abs], [abs, len])


# back to life


def test_a_record_comes_back_with_its_arguments(rig, other):
    """As this process would have made it, and as the store holds it."""
    snapshot = stored(rig, train, [1], kwargs={"depth": 2}, priority=4)
    other.controller.register(train)
    live = revive(other, snapshot)
    assert live.snapshot == live.draft == snapshot
    assert live.stored_version == snapshot.status_version > 0
    assert (live.work.target, live.work.args, live.work.kwargs) == (train.spec.function, ([1],), {"depth": 2})
    assert live.work.takes_context is True
    assert live.work.output is OutputMode.PLAIN
    assert live.work.args[0] is not snapshot.inputs["args"][0]


def test_a_submission_and_a_record_make_the_same(rig):
    """In one process: they go the same way, and a record queues behind what was submitted before it."""
    submitted = rig.controller._submissions.make(train, ([1],), {}, Options())
    revived = revive(rig, submitted.snapshot)
    assert (revived.work, revived.policy, revived.needs) == (submitted.work, submitted.policy, submitted.needs)
    assert revived.age == submitted.age + 1


def test_policies_are_the_tasks_own_but_for_what_the_record_says(rig, other):
    """The number of attempts and a timeout given at submission are the record's."""
    other.controller.register(train)
    live = revive(other, stored(rig, retry=RetryPolicy(9), timeout=Timeout(per_attempt=5)))
    assert live.policy.retry == RetryPolicy(9, backoff=FixedBackoff(7))
    assert live.policy.timeout == Timeout(per_attempt=5)
    assert revive(other, stored(rig)).policy == train.spec.policy
    other.controller.register(train.with_options(timeout=Timeout(idle=99)))
    assert revive(other, stored(rig)).policy.timeout == Timeout(idle=99)


def test_a_record_waits_for_the_limits_of_its_tags_and_bucket(rig):
    """Those of the controller that runs it."""
    snapshot = stored(rig, bucket_key="tenant")
    bucket = BucketPolicy().bucket_for("tenant")
    limited = Rig(concurrency=ConcurrencyPolicy(limits={"db": 1}, max_parallel_per_bucket=1))
    limited.controller.register(train)
    assert revive(limited, snapshot).needs == (("tag", "db"), ("bucket", bucket))
    limited.end()
    rig.controller.register(train)
    assert revive(rig, snapshot).needs == ()


def test_the_value_is_kept_as_the_task_says(rig):
    """In memory, where it asks for that."""
    work = task(name="m", restartable=True, result="memory")(lambda: 1)
    assert isinstance(revive(rig, rig.submit(work).snapshot).work.results, MemoryResults)


def test_a_record_that_was_not_restartable_cannot_come_back(rig, other):
    """What to run is not stored, even where the task is known."""
    snapshot = stored(rig, plain)
    other.controller.register(plain)
    with pytest.raises(NotRestartable, match="what to run is not stored: submit it again") as caught:
        revive(other, snapshot)
    assert str(caught.value).startswith(f"plain ({snapshot.task_id}) cannot be run again here: ")
    assert "declare it @task(restartable=True)" in str(caught.value)
    assert isinstance(caught.value, TaskError)


def test_a_task_that_is_not_registered_here_cannot_come_back(rig, other):
    """Nothing is imported by its name; the message says which are known, and what to write."""
    snapshot = stored(rig)
    with pytest.raises(NotRestartable, match=r"'train' here: controller\.register\(train\) first; known: none"):
        revive(other, snapshot)
    other.controller.register(print, name="zoom")
    other.controller.register(plain)
    with pytest.raises(NotRestartable, match=r"first; known: plain, zoom$"):
        revive(other, snapshot)
    odd = snapshot._replace(spec_name="os.system")
    with pytest.raises(NotRestartable, match=r"no task is called 'os\.system'.*register\(my_task\) first"):
        revive(other, odd)
    with pytest.raises(NotRestartable, match="no task"):
        revive(other, snapshot._replace(spec_name=None))


def test_a_task_that_takes_other_arguments_by_now_cannot_come_back(rig, other):
    """Rather than failing in the worker."""

    def changed(ctx, table, rows, *, depth=1):
        """It has a parameter more."""

    other.controller.register(changed, name="train")
    with pytest.raises(NotRestartable, match=r"does not take its stored inputs: .*missing a required argument: 'rows'"):
        revive(other, stored(rig))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inputs": {"args": []}}, "not what this version writes"),
        ({"inputs": {"args": [{1}], "kwargs": {}}}, "damaged: argument 1 is a set"),
        ({"max_attempts": 0}, "max_attempts must be"),
    ],
)
def test_a_damaged_record_cannot_come_back(rig, other, changes, words):
    """Told as what it is, and not as a mistake of the caller."""
    other.controller.register(train)
    with pytest.raises(NotRestartable, match=words):
        revive(other, stored(rig)._replace(**changes))


def test_a_record_of_another_controllers_bucket_does_not_come_back_here(rig):
    """Its work is that controller's, as for submissions."""
    policy = BucketPolicy()
    snapshot = stored(rig, bucket_key="theirs")
    elsewhere = Rig(owned_buckets=[(policy.bucket_for("theirs") + 1) % policy.num_buckets])
    elsewhere.controller.register(train)
    with pytest.raises(NotRestartable, match=r"bucket_key 'theirs' falls into bucket \d+.*retry it where"):
        revive(elsewhere, snapshot)
    elsewhere.end()


class Choosy(ManualExecutor):
    """An executor as that of processes: what it is given must cross, and its memory goes with the worker."""

    shares_memory = False

    def check(self, target, args, kwargs):
        """Refuses one."""
        if target is plain.spec.function:
            raise ConfigurationError("this one cannot go to another process") from ValueError("why")


def test_the_executor_is_asked_as_at_a_submission(rig):
    """Whether it can run the task, and whether its value can come back."""
    snapshot = stored(rig)
    choosy = Rig(executor=Choosy())
    choosy.controller.register(plain, name="train")
    with pytest.raises(NotRestartable, match="this one cannot go to another process") as caught:
        revive(choosy, snapshot)
    assert isinstance(caught.value.__cause__, ValueError)
    choosy.end()
    choosy = Rig(executor=Choosy())
    choosy.controller.register(train.with_options(result="memory"))
    with pytest.raises(NotRestartable, match="keeps its result in memory"):
        revive(choosy, snapshot)
    choosy.end()
