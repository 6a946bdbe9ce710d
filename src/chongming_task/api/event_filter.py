"""Which events a caller wants. Loaded with the first listener."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from chongming_task.api.naming import id_of, run_id_of
from chongming_task.core.events import Event
from chongming_task.core.hooks import is_async
from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from chongming_task.api.handle import TaskHandle
    from chongming_task.api.pipeline_run import PipelineRun

__all__ = ["checked_callback", "event_types", "filter_of"]


def checked_callback(callback: Any) -> Callable[[Event], None]:
    """What a caller gave to be called with events.

    Raises:
        ConfigurationError: For what cannot be called, or is ``async def``.
    """
    if not callable(callback):
        raise ConfigurationError(f"callback must take one event, got {callback!r:.200}")
    if is_async(callback):
        raise ConfigurationError(
            f"callback must be a plain function, and {callback!r:.100} is async: nobody would await it. In a "
            "coroutine, write: async for event in controller.stream(): ..."
        )
    return cast("Callable[[Event], None]", callback)


def filter_of(
    task_id: str | TaskHandle[Any] | None,
    pipeline_run_id: str | PipelineRun | None,
    tag: str | None,
    types: Iterable[type[Event]] | type[Event],
) -> Callable[[Event], bool]:
    """What says of an event whether it is wanted; it asks nobody, for events carry what it looks at.

    Args:
        task_id: Of that record.
        pipeline_run_id: Of that run: its nodes', and its own changes of status.
        tag: Of records with that tag.
        types: Of these classes; none: of all.

    Raises:
        ConfigurationError: For values that can never match.
    """
    wanted = event_types(types)
    task = None if task_id is None else id_of(task_id)
    run = None if pipeline_run_id is None else run_id_of(pipeline_run_id)
    if tag is not None and not isinstance(tag, str):
        raise ConfigurationError(f"tag takes one tag, as text, got {tag!r:.100}")

    def accepts(event: Event) -> bool:
        return (
            isinstance(event, wanted)
            and (task is None or event.task_id == task)
            and (run is None or event.pipeline_run_id == run)
            and (tag is None or tag in event.tags)
        )

    return accepts


def event_types(types: Any) -> tuple[type[Event], ...]:
    """Classes of events, from a collection of them or a single one.

    Raises:
        ConfigurationError: For anything else.
    """
    try:
        found = tuple(types)
    except TypeError:  # one class, or something else altogether
        found = (types,)
    if not all(isinstance(each, type) and issubclass(each, Event) for each in found):
        raise ConfigurationError(f"types takes classes of events, such as [TaskStatusChanged], got {types!r}")
    return found or (Event,)
