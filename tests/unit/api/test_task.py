"""@task and what can be submitted: functions of every sort, their names, their parameters."""

from __future__ import annotations

import functools
import pickle

import pytest

from chongming_task import ConfigurationError, RetryPolicy, TaskContext, TaskRegistry, Timeout, task
from chongming_task.api.signature import shape_of
from chongming_task.api.task import spec_of


@task(retry=RetryPolicy(3), tags={"io"}, priority=2)
def fetch(ctx: TaskContext, url: str, depth: int = 1) -> str:
    """Fetches."""
    return f"{url}:{depth}"


class Store:
    """A class whose methods are tasks."""

    def __init__(self, name="s"):
        self.name = name

    def load(self, ctx, key):
        return f"{self.name}:{key}"

    @task
    def save(self, ctx, key):
        """Saves."""
        return f"{self.name}={key}"

    def __call__(self, ctx, key):
        return key

    @staticmethod
    def still(ctx, key):
        return key

    @classmethod
    def whole(cls, ctx, key):
        return key


async def soon(ctx, key):
    return key


def test_a_task_stays_a_function():
    """Called, it runs here and now; it keeps its name and its documentation."""
    assert fetch(None, "a", depth=2) == "a:2"
    assert (fetch.__name__, fetch.__doc__) == ("fetch", "Fetches.")
    assert (fetch.spec.name, fetch.spec.tags, fetch.spec.priority) == ("fetch", {"io"}, 2)
    assert repr(fetch) == "<task 'fetch'>"
    assert pickle.loads(pickle.dumps(fetch)) is fetch


def test_other_options_make_another_task():
    """The first one stays as it is."""
    other = fetch.with_options(name="other", timeout=Timeout(idle=5), tags=["x"])
    assert (other.spec.name, other.spec.tags, other.spec.priority) == ("other", {"x"}, 2)
    assert other.spec.policy.timeout.idle == 5
    assert other.spec.policy.retry.max_attempts == 3
    assert fetch.spec.name == "fetch"
    assert other(None, "a") == "a:1"


def test_a_method_is_the_task_of_its_object(rig):
    """Called or submitted, it has its self."""
    store = Store("mine")
    assert store.save(None, "k") == "mine=k"
    handle = rig.submit(store.save, args=("k",))
    request = rig.worker(handle).request
    assert (handle.name, request.takes_context) == ("save", True)
    assert request.target(None, *request.args) == "mine=k"
    assert Store.save.spec.name == "save"


CALLABLES = [
    (Store().load, "load", True),
    (Store(), "Store", True),
    (Store.still, "still", True),
    (Store.whole, "whole", True),
    (functools.partial(Store("p").load, key="k"), "load", True),
    (functools.partial(functools.partial(fetch.spec.function)), "fetch", True),
    (lambda ctx, key: key, "<lambda>", True),
    (soon, "soon", True),
    (Store, "Store", False),
    (len, "len", False),
    (dict, "dict", False),
    (min, "min", False),
    ("".join, "join", False),
]


@pytest.mark.parametrize(("target", "name", "context"), CALLABLES, ids=range(len(CALLABLES)))
def test_whatever_can_be_called_can_be_submitted(rig, target, name, context):
    """Named as well as can be, and given the context when it asks for it."""
    keywords = {} if isinstance(target, functools.partial) and "key" in target.keywords else {"args": ("k",)}
    handle = rig.submit(target, **keywords)
    assert (handle.name, rig.worker(handle).request.takes_context) == (name, context)


def takes_hint(context: TaskContext, key):
    """The context by its annotation."""


def takes_dotted(context: chongming_task.TaskContext, key):  # noqa: F821  # only text: annotations are not looked up
    """The same, with its module."""


def takes_other(context: FlaskTaskContext, key):  # noqa: F821  # some other library's
    """Not ours."""


def takes_second(key, ctx):
    """Not the first."""


def takes_keyword(*, ctx):
    """Not positional."""


@pytest.mark.parametrize(
    ("function", "context"),
    [(takes_hint, True), (takes_dotted, True), (takes_other, False), (takes_second, False), (takes_keyword, False)],
)
def test_the_context_is_the_first_parameter_by_name_or_annotation(function, context):
    """And nothing else is mistaken for it."""
    assert shape_of(function).takes_context is context


def test_a_function_may_have_its_own_keyword_called_ctx():
    """Where the context's own parameter cannot be meant."""

    def wide(context: TaskContext, /, **keywords):
        """Takes anything by keyword."""

    shape_of(wide).check("wide", (), {"context": 1, "ctx": 2})


def test_a_callable_that_cannot_be_remembered_is_looked_at_again():
    """Neither hashable nor weakly referable, and still a task."""

    class Slotted:
        __slots__ = ()
        __hash__ = None

        def __call__(self, key):
            return key

    assert shape_of(Slotted()).positional == (1, 1)
    assert spec_of(Slotted()).name == "Slotted"


def test_a_builtin_without_a_signature_is_checked_when_it_runs():
    """Python cannot tell what it takes."""
    shape = shape_of(min)
    assert shape.signature is None
    shape.check("min", (1, 2, 3), {"wrong": 1})


def test_a_name_of_any_length_is_shortened_visibly():
    """Two hundred characters, with a mark."""
    name = task(name="n" * 100_000)(print).spec.name
    assert len(name) == 200
    assert "left out" in name


def test_the_registry_knows_tasks_by_name():
    """In order, by ``in``, and counted; a cell that ran again renews its function."""
    registry = TaskRegistry()
    registry.register(fetch)
    registry.register(len, name="length")
    assert (list(registry), len(registry), "length" in registry, "len" in registry) == (
        ["fetch", "length"],
        2,
        True,
        False,
    )

    def cell(version):
        def work():
            return version

        return work

    registry.register(cell(1))
    registry.register(cell(2))
    assert registry.get("work").function() == 2
    with pytest.raises(ConfigurationError, match="belongs to"):
        registry.register(max, name="length")
    with pytest.raises(ConfigurationError, match="made from a function"):
        registry.register("fetch")
