"""What a task may cost: attempts, back-off, time, slots, buckets. Values that are checked when they are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from chongming_task.core.failures import FailureKind
from chongming_task.errors import ConfigurationError

__all__ = [
    "LARGEST_SECONDS",
    "Backoff",
    "BucketPolicy",
    "ConcurrencyPolicy",
    "ExponentialBackoff",
    "FixedBackoff",
    "NoBackoff",
    "RetryPolicy",
    "TaskPolicy",
    "Timeout",
]


_MOST_BUCKETS = 100_000  # each has a lease, and a limit of its own
LARGEST_SECONDS = 1e9  # seconds, 31 years: system calls that wait, and dates, take no more than a few hundred


def _number(owner: str, name: str, value: Any, *, positive: bool = False) -> float:
    """``value`` as a finite number that is not negative (or, with ``positive``, above zero)."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LARGEST_SECONDS
    if not good or (positive and value == 0):
        wanted = "a number above 0" if positive else "a number, 0 or more"
        raise ConfigurationError(
            f"{owner}: {name} must be {wanted}, and at most {LARGEST_SECONDS:g}, got {value!r:.50}"
        )
    return float(value)


def _count(owner: str, name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(f"{owner}: {name} must be a whole number, 1 or more, got {value!r:.50}")
    return value


class Backoff(Protocol):
    """How long to wait before another attempt."""

    def delay(self, failed: int, chance: float) -> float:
        """Seconds to wait.

        Args:
            failed: How many attempts have failed so far, 1 or more.
            chance: A random number in [0, 1), for jitter.
        """
        ...


class NoBackoff(NamedTuple):
    """Try again at once.

    Example:
        >>> NoBackoff().delay(3, 0.9)
        0.0
    """

    def delay(self, failed: int, chance: float) -> float:
        """Always 0.

        Args:
            failed: Does not matter.
            chance: Does not matter.
        """
        return 0.0


@dataclass(frozen=True, slots=True)
class FixedBackoff:
    """Wait the same time before every attempt.

    Args:
        seconds: How many seconds, 0 or more.

    Raises:
        ConfigurationError: For what is no number, or negative.

    Example:
        >>> FixedBackoff(0.5).delay(3, 0.9)
        0.5
    """

    seconds: float = 1.0

    def __post_init__(self) -> None:
        _number("FixedBackoff", "seconds", self.seconds)

    def delay(self, failed: int, chance: float) -> float:
        """``seconds``, whatever came before.

        Args:
            failed: Does not matter.
            chance: Does not matter.
        """
        return self.seconds


@dataclass(frozen=True, slots=True)
class ExponentialBackoff:
    """Wait longer after every failure, spread at random so that many tasks do not come back at the same moment.

    Args:
        base: Seconds after the first failure.
        factor: How much longer each next wait is.
        max: The longest wait, seconds.
        jitter: ``"full"`` draws the wait from 0 up to the computed value, ``"none"`` takes it as it is.

    Example:
        >>> ExponentialBackoff(base=1.0, factor=2.0, jitter="none").delay(3, 0.5)
        4.0
    """

    base: float = 1.0
    factor: float = 2.0
    max: float = 300.0
    jitter: Literal["full", "none"] = "full"

    def __post_init__(self) -> None:
        _number("ExponentialBackoff", "base", self.base)
        _number("ExponentialBackoff", "max", self.max)
        if _number("ExponentialBackoff", "factor", self.factor) < 1:
            raise ConfigurationError(f"ExponentialBackoff: factor must be 1 or more, got {self.factor!r}")
        if self.jitter not in ("full", "none"):
            raise ConfigurationError(f'ExponentialBackoff: jitter must be "full" or "none", got {self.jitter!r}')

    def delay(self, failed: int, chance: float) -> float:
        """``min(max, base * factor ** (failed - 1))``, times ``chance`` with full jitter.

        Args:
            failed: How many attempts have failed so far, 1 or more.
            chance: A random number in [0, 1).
        """
        try:
            seconds = min(self.max, self.base * self.factor ** (failed - 1))
        except OverflowError:
            seconds = self.max if self.base else 0.0
        return seconds * chance if self.jitter == "full" else seconds


_NAMED_BACKOFFS: Mapping[str, Backoff] = {
    "exponential": ExponentialBackoff(),
    "fixed": FixedBackoff(),
    "none": NoBackoff(),
}


def _exception_types(name: str, types: Any) -> tuple[type[BaseException], ...]:
    if isinstance(types, str):
        raise ConfigurationError(
            f"RetryPolicy: {name} takes exception classes, got {types!r:.50}; write the class itself, "
            f"without quotes: {name}=ValueError"
        )
    try:
        found = (types,) if isinstance(types, type) else tuple(types)
    except TypeError:
        found = (types,)
    for each in found:
        if not (isinstance(each, type) and issubclass(each, BaseException)):
            raise ConfigurationError(f"RetryPolicy: {name} takes exception classes, got {each!r}")
    return found


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a task is tried, when, and for which errors.

    Args:
        max_attempts: Tries in all, the first included; 1 means no retry.
        backoff: A :class:`Backoff`, or ``"exponential"``, ``"fixed"`` or ``"none"``.
        retry_on: Exception classes worth another try; the default is every ``Exception``.
        give_up_on: Exception classes that end the record at once; they win over ``retry_on``.

    Raises:
        ConfigurationError: For values that cannot work.

    Example:
        >>> RetryPolicy(max_attempts=3, backoff="none", give_up_on=(ValueError,)).answers(KeyError("x"))
        True
    """

    max_attempts: int = 1
    backoff: Backoff | str = "exponential"
    retry_on: tuple[type[BaseException], ...] | type[BaseException] = (Exception,)
    give_up_on: tuple[type[BaseException], ...] | type[BaseException] = ()

    def __post_init__(self) -> None:
        _count("RetryPolicy", "max_attempts", self.max_attempts)
        object.__setattr__(self, "retry_on", _exception_types("retry_on", self.retry_on))
        object.__setattr__(self, "give_up_on", _exception_types("give_up_on", self.give_up_on))
        if isinstance(self.backoff, str):
            if self.backoff not in _NAMED_BACKOFFS:
                known = ", ".join(f'"{name}"' for name in _NAMED_BACKOFFS)
                raise ConfigurationError(f"RetryPolicy: backoff must be a Backoff or one of {known}")
            object.__setattr__(self, "backoff", _NAMED_BACKOFFS[self.backoff])
        elif isinstance(self.backoff, type) or not callable(getattr(self.backoff, "delay", None)):
            raise ConfigurationError(f"RetryPolicy: backoff must have a delay(failed, chance) method: {self.backoff!r}")

    def answers(self, error: BaseException) -> bool:
        """Whether ``error`` is worth another attempt, as far as its class goes.

        Args:
            error: What the task raised.
        """
        give_up, retry = self.give_up_on, self.retry_on
        return isinstance(error, retry) and not isinstance(error, give_up)

    def delay(self, failed: int, chance: float) -> float:
        """Seconds to wait after ``failed`` failed attempts, by one of our own backoffs; runs no code of a caller.

        A caller's own Backoff is asked in the worker, see :meth:`custom_delay`. Where no worker is left to ask (it was
        killed, say) the record waits by the default, ``"exponential"``.
        """
        backoff = self.backoff
        if isinstance(backoff, str) or type(backoff) not in _OURS:
            backoff = _NAMED_BACKOFFS["exponential"]
        return _bounded(backoff.delay(failed, chance))

    def custom_delay(self, failed: int, chance: float) -> float | None:
        """The same by a caller's own Backoff; None when it is one of ours. Runs the caller's code: for workers.

        Raises:
            Exception: What that code raises.
        """
        if isinstance(self.backoff, str) or type(self.backoff) in _OURS:
            return None
        return _bounded(float(self.backoff.delay(failed, chance)))


_OURS = (NoBackoff, FixedBackoff, ExponentialBackoff)


def _bounded(seconds: float) -> float:
    return min(seconds, LARGEST_SECONDS) if seconds > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    """How long an attempt may take. Time spent paused does not count. Each limit is given by its name.

    An attempt that overruns one fails with a TIMEOUT kind, or is lost where its worker cannot be ended.

    Args:
        start: Seconds from asking for a worker until user code begins.
        per_attempt: Seconds an attempt may run.
        idle: Seconds between two checkpoints of a started attempt; progress alone does not count as one.
        grace: Seconds a task has to obey once it was told that its time is up.

    Raises:
        ConfigurationError: For a limit without a name or that is not a number above 0, or a negative grace.

    Example:
        >>> Timeout(per_attempt=60, idle=10).idle
        10
    """

    start: float | None = None
    per_attempt: float | None = None
    idle: float | None = None
    grace: float = 5.0

    def __new__(cls, *unnamed: object, **named: object) -> Timeout:
        """A number alone does not say which limit it is."""
        if unnamed:
            raise ConfigurationError(f"Timeout: say which limit: Timeout(per_attempt={unnamed[0]!r:.50})")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name in ("start", "per_attempt", "idle"):
            value = getattr(self, name)
            if value is not None:
                _number("Timeout", name, value, positive=True)
        _number("Timeout", "grace", self.grace)


@dataclass(frozen=True, slots=True)
class ConcurrencyPolicy:
    """How many tasks of one controller hold a worker at once.

    Args:
        max_parallel: For all tasks together; None for no limit.
        limits: For the tasks that carry a tag: ``{"db": 4}``.
        priority: What a submission without a priority of its own gets; higher runs first.
        max_parallel_per_bucket: For the tasks of one bucket; None for no limit.

    Raises:
        ConfigurationError: For a limit below 1 or a priority that is not a whole number.

    Example:
        >>> ConcurrencyPolicy(max_parallel=16, limits={"db": 4}).limits["db"]
        4
    """

    max_parallel: int | None = 32
    limits: Mapping[str, int] = field(default_factory=dict)
    priority: int = 0
    max_parallel_per_bucket: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_parallel", "max_parallel_per_bucket"):
            if getattr(self, name) is not None:
                _count("ConcurrencyPolicy", name, getattr(self, name))
        if not isinstance(self.limits, Mapping):
            raise ConfigurationError(f'ConcurrencyPolicy: limits must look like {{"db": 4}}, got {self.limits!r}')
        for tag, limit in self.limits.items():
            _count("ConcurrencyPolicy", f"limits[{tag!r}]", limit)
        if type(self.priority) is not int:
            raise ConfigurationError(f"ConcurrencyPolicy: priority must be a whole number, got {self.priority!r}")
        object.__setattr__(self, "limits", dict(self.limits))


@dataclass(frozen=True, slots=True)
class BucketPolicy:
    """Which bucket a business key falls into; the same in every process and on every machine.

    Args:
        num_buckets: How many there are, at most 100 000: a constant of the deployment. Changing it moves almost every
            key.

    Example:
        >>> BucketPolicy(64).bucket_for("tenant-a") == BucketPolicy(64).bucket_for("tenant-a")
        True
    """

    num_buckets: int = 64

    def __post_init__(self) -> None:
        if _count("BucketPolicy", "num_buckets", self.num_buckets) > _MOST_BUCKETS:
            raise ConfigurationError(
                f"BucketPolicy: num_buckets must be a whole number, 1 or more, and at most {_MOST_BUCKETS}, got "
                f"{self.num_buckets!r:.50}"
            )

    def bucket_for(self, key: str) -> int:
        """The bucket of ``key``, 0 to ``num_buckets - 1``.

        Args:
            key: The business key, such as a tenant.
        """
        import hashlib  # loads a crypto library, which nobody pays for who has no buckets

        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.num_buckets

    def checked(self, buckets: Iterable[int]) -> frozenset[int]:
        """``buckets`` as a set, each of them known to exist.

        Args:
            buckets: Their numbers.

        Raises:
            ConfigurationError: When one is outside ``range(num_buckets)``.
        """
        try:
            found = list(buckets)
        except TypeError:
            raise ConfigurationError(f"owned_buckets takes numbers, such as range(0, 32), got {buckets!r}") from None
        wrong = [b for b in found if type(b) is not int or not 0 <= b < self.num_buckets]
        if wrong:
            raise ConfigurationError(f"owned_buckets: {wrong[:5]} not in range(0, {self.num_buckets})")
        return frozenset(found)


class TaskPolicy(NamedTuple):
    """The two policies the rules need of a record.

    Example:
        >>> TaskPolicy(RetryPolicy(max_attempts=3), Timeout(per_attempt=60)).limit(FailureKind.TIMEOUT_ATTEMPT)
        60
    """

    retry: RetryPolicy = RetryPolicy()
    timeout: Timeout = Timeout()

    def limit(self, kind: FailureKind) -> float | None:
        """Seconds allowed by the timeout of that kind; None for no limit.

        Args:
            kind: One of the TIMEOUT kinds.
        """
        return {
            FailureKind.TIMEOUT_START: self.timeout.start,
            FailureKind.TIMEOUT_ATTEMPT: self.timeout.per_attempt,
            FailureKind.TIMEOUT_IDLE: self.timeout.idle,
        }[kind]
