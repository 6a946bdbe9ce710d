"""Policies are checked where they are made: a wrong value is told at once, with what was expected."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task.core.failures import FailureKind
from chongming_task.core.policies import (
    BucketPolicy,
    ConcurrencyPolicy,
    ExponentialBackoff,
    FixedBackoff,
    NoBackoff,
    RetryPolicy,
    TaskPolicy,
    Timeout,
)
from chongming_task.errors import ConfigurationError

NO_NUMBER = [-1, -0.001, math.nan, math.inf, -math.inf, True, False, "1", None, Decimal(1), [1], 1e300, 10**400]
NO_COUNT = [0, -1, 1.0, 2.5, True, "3", math.nan, math.inf, [1]]


def refuses(make, words: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(ConfigurationError, match=words):
            make(value)


# back-off


@pytest.mark.parametrize("name", ["base", "max", "factor"])
def test_an_exponential_back_off_takes_numbers(name):
    """Finite, not negative, no booleans, no text."""
    refuses(lambda value: ExponentialBackoff(**{name: value}), f"ExponentialBackoff: {name} must be", NO_NUMBER)


def test_an_exponential_back_off_never_shrinks():
    """A factor below 1 is a mistake."""
    refuses(lambda value: ExponentialBackoff(factor=value), "factor must be 1 or more", [0, 0.99])
    refuses(lambda value: ExponentialBackoff(jitter=value), "jitter must be", ["some", None, True])


def test_a_fixed_back_off_takes_a_number():
    """Zero is one."""
    refuses(FixedBackoff, "FixedBackoff: seconds must be a number, 0 or more", NO_NUMBER)
    assert FixedBackoff(0).delay(1, 0.5) == 0
    assert FixedBackoff(2.5).delay(9, 0.0) == 2.5


def test_the_waits_double_up_to_the_longest():
    """Without jitter as computed, with it times the chance."""
    plain = ExponentialBackoff(base=1, factor=2, max=10, jitter="none")
    assert [plain.delay(n, 0.1) for n in (1, 2, 3, 4, 5, 60)] == [1, 2, 4, 8, 10, 10]
    full = ExponentialBackoff(base=1, factor=2, max=10)
    assert [full.delay(n, 0.5) for n in (1, 2, 3, 4, 5, 60)] == [0.5, 1, 2, 4, 5, 5]


@pytest.mark.parametrize("failed", [1_000, 10**6, 10**9])
def test_huge_exponents_give_the_longest_wait(failed):
    """No overflow, and no eternity of computing."""
    assert ExponentialBackoff(factor=2.0, max=60, jitter="none").delay(failed, 1.0) == 60
    assert ExponentialBackoff(base=1e9, factor=1e9, max=60, jitter="none").delay(failed, 1.0) == 60
    assert ExponentialBackoff(base=0, factor=2.0, jitter="none").delay(failed, 1.0) == 0
    assert ExponentialBackoff(factor=1, max=60, jitter="none").delay(failed, 1.0) == 1


BACKOFFS = st.builds(
    ExponentialBackoff,
    base=st.floats(0, 1e9),
    factor=st.floats(1, 1e9),
    max=st.floats(0, 1e9),
    jitter=st.sampled_from(["full", "none"]),
)


@given(BACKOFFS, st.integers(1, 10**6), st.floats(0, 1, exclude_max=True))
@settings(deadline=None)
def test_a_wait_is_between_nothing_and_the_longest(backoff, failed, chance):
    """Whatever the numbers are."""
    assert 0 <= backoff.delay(failed, chance) <= backoff.max
    assert RetryPolicy(backoff=backoff).delay(failed, chance) == backoff.delay(failed, chance)


# retry


@pytest.mark.parametrize(
    ("name", "backoff"), [("exponential", ExponentialBackoff()), ("fixed", FixedBackoff()), ("none", NoBackoff())]
)
def test_back_offs_have_names(name, backoff):
    """Three of them."""
    assert RetryPolicy(backoff=name).backoff == backoff


def test_a_back_off_must_be_one():
    """A name that is none, a number, a class instead of an object."""
    refuses(lambda value: RetryPolicy(backoff=value), 'one of "exponential", "fixed", "none"', ["linear", "", "FIXED"])
    refuses(lambda value: RetryPolicy(backoff=value), "must have a delay", [3, None, object(), FixedBackoff])


def test_attempts_are_counted_in_whole_numbers():
    """At least one."""
    refuses(lambda value: RetryPolicy(max_attempts=value), "RetryPolicy: max_attempts must be", [*NO_COUNT, None])


@pytest.mark.parametrize("name", ["retry_on", "give_up_on"])
def test_errors_are_named_by_their_classes(name):
    """One, or several."""
    refuses(lambda value: RetryPolicy(**{name: value}), f"{name} takes exception classes",
            ["ValueError", int, ValueError("x"), [ValueError, 3], None, 3])  # fmt: skip
    for value in (KeyError, [KeyError], (KeyError,), {KeyError}):
        assert getattr(RetryPolicy(**{name: value}), name) == (KeyError,)


def test_the_name_of_a_class_is_no_class():
    """And is not taken for ten letters."""
    with pytest.raises(ConfigurationError, match="got 'ValueError'; write the class itself, without quotes"):
        RetryPolicy(retry_on="ValueError")


def test_giving_up_wins_over_retrying():
    """By class, subclasses included."""
    retry = RetryPolicy(retry_on=(LookupError, OSError), give_up_on=KeyError)
    assert retry.answers(IndexError())
    assert retry.answers(ConnectionError())
    assert not retry.answers(KeyError("x"))
    assert not retry.answers(ValueError())
    assert not RetryPolicy().answers(KeyboardInterrupt())
    assert RetryPolicy().answers(ValueError())


@pytest.mark.parametrize(
    ("said", "waited"), [(-5, 0), (math.nan, 0), (0, 0), (2, 2.0), (math.inf, 1e9), (1e300, 1e9), (True, 1.0)]
)
def test_a_back_off_of_the_caller_s_is_kept_in_bounds(said, waited):
    """Never negative, never beyond what a clock can wait for."""

    class Custom:
        def delay(self, failed, chance):
            return said

    assert RetryPolicy(backoff=Custom()).custom_delay(1, 0.5) == waited


def test_the_rules_run_no_code_of_a_caller():
    """A Backoff of a caller's is asked in the worker; where none is left, the default stands in for it."""

    class Custom(FixedBackoff):
        def delay(self, failed, chance):
            raise AssertionError("the engine must not come here")

    assert RetryPolicy(backoff=Custom()).delay(2, 0.5) == ExponentialBackoff().delay(2, 0.5)
    assert RetryPolicy(backoff=FixedBackoff(3.0)).custom_delay(1, 0.5) is None


# time and slots


@pytest.mark.parametrize("name", ["start", "per_attempt", "idle"])
def test_a_limit_is_a_number_above_nothing(name):
    """Or None, for none."""
    values = [0, 0.0, *(value for value in NO_NUMBER if value is not None)]
    refuses(lambda value: Timeout(**{name: value}), f"Timeout: {name} must be a number above 0", values)
    assert getattr(Timeout(**{name: None}), name) is None
    assert getattr(Timeout(**{name: 0.5}), name) == 0.5


def test_a_limit_is_given_by_its_name():
    """A number alone would be taken for whichever limit comes first."""
    with pytest.raises(ConfigurationError, match=r"say which limit: Timeout\(per_attempt=0.2\)"):
        Timeout(0.2)
    limits = Timeout(per_attempt=3, idle=2)
    assert pickle.loads(pickle.dumps(limits)) == copy.deepcopy(limits) == limits
    assert replace(limits, idle=None) == Timeout(per_attempt=3)


def test_a_grace_may_be_nothing_but_not_negative():
    """Zero gives no time to obey."""
    refuses(lambda value: Timeout(grace=value), "Timeout: grace must be a number, 0 or more", NO_NUMBER)
    assert Timeout(grace=0).grace == 0


def test_the_rules_ask_for_a_limit_by_its_kind():
    """Three kinds, three limits."""
    policy = TaskPolicy(timeout=Timeout(start=1, per_attempt=2, idle=3))
    kinds = (FailureKind.TIMEOUT_START, FailureKind.TIMEOUT_ATTEMPT, FailureKind.TIMEOUT_IDLE)
    assert [policy.limit(kind) for kind in kinds] == [1, 2, 3]
    assert TaskPolicy().limit(FailureKind.TIMEOUT_IDLE) is None


def test_slots_are_counted_in_whole_numbers():
    """None is no limit, where it is allowed."""
    refuses(lambda value: ConcurrencyPolicy(max_parallel=value), "max_parallel must be", NO_COUNT)
    refuses(lambda value: ConcurrencyPolicy(max_parallel_per_bucket=value), "max_parallel_per_bucket", NO_COUNT)
    refuses(lambda value: ConcurrencyPolicy(limits={"db": value}), r"limits\['db'\]", [*NO_COUNT, None])
    refuses(lambda value: ConcurrencyPolicy(limits=value), "limits must look like", [None, 3, [("db", 4)], "db"])
    refuses(lambda value: ConcurrencyPolicy(priority=value), "priority must be", [True, 1.0, "1", None])
    assert ConcurrencyPolicy(None, {"db": 4}, -3, 2).priority == -3


def test_limits_are_the_policy_s_own():
    """Changing the mapping afterwards changes nothing."""
    given = {"db": 4}
    policy = ConcurrencyPolicy(limits=given)
    given["db"] = 0
    assert policy.limits == {"db": 4}


# buckets

PROBE = """
import copy
import json
from chongming_task.core.policies import BucketPolicy
keys = ["tenant-a", "tenant-b", "", "租户", "\\udc80", "x" * 1000]
print(json.dumps([[BucketPolicy(n).bucket_for(key) for key in keys] for n in (1, 7, 64, 1000)]))
"""


def test_a_key_falls_into_the_same_bucket_in_every_process():
    """Python's own hash differs by process; and a release must not move keys either, so the numbers stand here."""
    found = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", PROBE],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                check=True,
                text=True,
                timeout=30,
            ).stdout
        )
        for seed in ("0", "1", "random")
    ]
    assert found[0] == found[1] == found[2]
    assert found[0] == PINNED


PINNED = [[0, 0, 0, 0, 0, 0], [4, 2, 0, 4, 6, 3], [15, 32, 52, 42, 61, 23], [815, 608, 876, 514, 501, 215]]


@given(st.text(max_size=20), st.integers(1, 10_000))
@settings(deadline=None)
def test_a_bucket_exists(key, num_buckets):
    """Between nothing and the number of buckets."""
    assert 0 <= BucketPolicy(num_buckets).bucket_for(key) < num_buckets


def test_keys_spread():
    """No bucket of 64 is without a key, none has thrice its share."""
    counts = [0] * 64
    for number in range(6400):
        counts[BucketPolicy(64).bucket_for(f"tenant-{number}")] += 1
    assert min(counts) > 50
    assert max(counts) < 160


def test_only_buckets_that_exist_can_be_owned():
    """Whole numbers in range."""
    refuses(BucketPolicy, "num_buckets must be", [*NO_COUNT, None, 2**63])
    policy = BucketPolicy(8)
    assert policy.checked([0, 7, 7]) == {0, 7}
    assert policy.checked(range(8)) == set(range(8))
    refuses(policy.checked, "owned_buckets takes numbers", [3, None])
    refuses(lambda value: policy.checked([1, value]), "not in range", [-1, 8, 1.5, "1", None, True, math.nan])
