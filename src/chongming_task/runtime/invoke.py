"""Runs user code in a worker and turns whatever comes out into one ``Ended``. Never raises."""

from __future__ import annotations

import inspect
import logging
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from chongming_task.core.failures import Failure, FailureKind, describe_exception
from chongming_task.core.output import OutputMode
from chongming_task.core.policies import RetryPolicy
from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.core.text import MESSAGE_LIMIT, clean
from chongming_task.core.triggers import Ended, Started
from chongming_task.errors import ResultInvalid, TaskCancelled
from chongming_task.runtime.capture import begin_attempt, end_attempt
from chongming_task.runtime.context import TaskContext, running_context
from chongming_task.runtime.token import CancellationToken

__all__ = ["invoke"]

_logger = logging.getLogger("chongming_task.engine")


def invoke(
    request: AttemptRequest,
    token: CancellationToken,
    deliver: Deliver,
    *,
    keep: Callable[[BaseException], None],
    pid: int | None = None,
) -> Ended:
    """Run one attempt to its end in this thread. The caller delivers what it returns.

    Args:
        request: What to run.
        token: The attempt's line to the engine.
        deliver: Takes the reports on the way.
        keep: Takes the exception object that ended the attempt, for callers in the same process.
        pid: The worker's process, when it is not the controller's.
    """
    number = request.attempt
    if token.stop_reason is not None:  # stopped before it began: user code does not run
        return Ended(number, failure=_obeyed(token, "stopped before it began"))
    deliver(Started(number, pid))
    limit = request.limit_seconds
    deadline = None if limit is None else datetime.now(UTC) + timedelta(seconds=limit)
    context = TaskContext(request, token, deliver, deadline)
    capture = begin_attempt(context) if request.output is not OutputMode.PLAIN else None
    mark = running_context.set(context)
    try:
        value = _call(request, context, token)
        return Ended(number, outcome=request.results.keep(value, lambda: context.artifacts.new_folder("result")))
    except TaskCancelled as signal:
        keep(signal)
        return Ended(number, failure=_cancelled(token, signal))
    except ResultInvalid as wrong:
        keep(wrong)
        return Ended(number, failure=Failure(FailureKind.RESULT_INVALID, describe_exception(wrong).message))
    except BaseException as error:  # SystemExit and its like end the attempt, never the worker
        if type(error) is NameError and error.name in ("ctx", "context") and not request.takes_context:
            error.add_note("the task takes no context: give its function a first parameter named ctx")
        keep(error)
        if _is_signal(error):
            return Ended(number, failure=_cancelled(token, error))
        failure = _described(error, request.retry)
        return Ended(number, failure=failure, retry_after=_back_off(request) if failure.retryable else None)
    finally:
        running_context.reset(mark)
        end_attempt(context, capture)


def _call(request: AttemptRequest, context: TaskContext, token: CancellationToken) -> Any:
    args, kwargs = request.args, request.kwargs
    if request.upstream is not None:
        args, kwargs = request.upstream.fill(args), request.upstream.fill(dict(kwargs))
    if request.takes_context:
        args = (context, *args)
    value = request.target(*args, **kwargs)
    if inspect.iscoroutine(value):
        from chongming_task.runtime.awaiting import run_coroutine  # loads asyncio, 50 ms: only coroutines pay for it

        return run_coroutine(value, token)
    return value


def _is_signal(error: BaseException) -> bool:
    """Whether it is nothing but the stop signal, in the groups that asyncio's task groups make of it."""
    return isinstance(error, BaseExceptionGroup) and error.split(TaskCancelled)[1] is None


def _described(error: BaseException, retry: RetryPolicy) -> Failure:
    try:
        return describe_exception(error, retryable=retry.answers(error))
    except BaseException as worse:  # one that cannot be looked at (its __str__ exits, say) has ended the attempt too
        names = f"{type(error).__name__}, and looking at it raised {type(worse).__name__}"
        return Failure(FailureKind.EXCEPTION, clean(names, MESSAGE_LIMIT), exception_type=clean(type(error).__name__))


def _back_off(request: AttemptRequest) -> float | None:
    """How long a caller's own Backoff wants to wait; None when it is one of ours, or of no use."""
    try:
        return request.retry.custom_delay(request.attempt, random.random())
    except Exception:  # it cannot be told to anybody but the log, and the record has to go on: it waits by the default
        _logger.exception("the Backoff of %r raised; it waits by the default one", request.name)
        return None


def _cancelled(token: CancellationToken, signal: BaseException) -> Failure:
    if token.stop_reason is None:
        said = _described(signal, RetryPolicy()).message
        return Failure(
            FailureKind.CANCELLED, f"the task raised TaskCancelled though nobody had asked it to stop: {said}"
        )
    return _obeyed(token, "stopped at a checkpoint")


def _obeyed(token: CancellationToken, how: str) -> Failure:
    """The worker did as told."""
    reason = token.stop_reason
    assert reason is not None
    failure = reason.obeyed(how)
    if failure.kind is FailureKind.CANCELLED:
        return failure
    return replace(failure, message=f"its time was up ({failure.kind.partition('_')[2]} limit); {how}")
