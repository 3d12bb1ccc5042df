"""Limits and times: what this machine was slow at is never held against a provider."""

from pathlib import Path

import pytest

from bigfleet.conformance.catalogue import BY_ID
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.embedded import EmbeddedLauncher
from bigfleet.conformance.pace import (
    LONGEST_PATIENCE,
    TRIES,
    Pace,
    Patience,
    best_p99,
    p99_of,
    timed,
)
from bigfleet.conformance.reference.mutants import MUTANTS
from bigfleet.conformance.reference.provider import Fault, Kind, Reference
from bigfleet.conformance.rows import Status
from bigfleet.conformance.runner import Run, run_rows
from bigfleet.conformance.trial import Settings
from bigfleet.model.provider_calls import Mutation


class Hours:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def wall(self) -> int:
        return round(self.at * 1e9)

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


def looks_until_spent(each: float, limit: float = 15.0) -> tuple[int, float]:
    clock = Hours()
    patience, looks = Patience(clock, Pace(poll=0.02), limit), 0
    while not patience.spent():
        clock.at += each
        looks += 1
    return looks, clock.at


def test_a_limit_is_its_length_where_answers_come_at_their_pace() -> None:
    _, took = looks_until_spent(each=0.025)
    assert 15.0 <= took < 15.1


def test_a_look_that_takes_long_uses_little_of_the_limit() -> None:
    looks, took = looks_until_spent(each=0.1)
    assert looks == 300
    assert took > 29


def test_patience_ends_however_busy_the_machine_is() -> None:
    _, took = looks_until_spent(each=5.0)
    assert took == LONGEST_PATIENCE * 15.0


async def test_one_good_measurement_settles_it() -> None:
    waiting = iter([[0.1, 0.9], [0.1, 0.2], [0.1, 0.9]])

    async def measured() -> list[float]:
        return next(waiting)

    assert await best_p99(measured, enough=0.25) == 0.2
    assert next(waiting) == [0.1, 0.9]


async def test_what_is_slow_every_time_is_slow() -> None:
    tries = 0

    async def measured() -> list[float]:
        nonlocal tries
        tries += 1
        return [0.1, 0.9]

    assert await best_p99(measured, enough=0.25) == 0.9
    assert tries == TRIES


async def test_where_even_the_quickest_call_is_slow_nothing_is_measured_again() -> None:
    waiting = iter([[0.3, 0.9]])

    async def measured() -> list[float]:
        return next(waiting)

    assert await best_p99(measured, enough=0.25) == 0.9


async def test_calls_are_timed_one_by_one() -> None:
    clock = Hours()
    times = await timed(clock, 100, lambda: clock.sleep(0.5), enough_seconds=1.0)
    assert times == [0.5, 0.5, 0.5]
    assert p99_of([float(n) for n in range(1, 101)]) == 99.0


class Overworked(Reference):
    """Its first Creates after the probes run into the short timeout of the fault lane."""

    creates = 0
    probed = 2
    unlucky = 1

    async def actuate(self, kind: Kind, call: Mutation, operation: str) -> None:
        if kind is Kind.CREATE:
            self.creates += 1
            if self.probed < self.creates <= self.probed + self.unlucky:
                raise Fault("the host was too busy")
        await super().actuate(kind, call, operation)


class Hopeless(Overworked):
    unlucky = 100


@pytest.mark.parametrize(
    ("provider", "status"),
    [(Overworked, "passed"), (Hopeless, "failed")],
    ids=["once too late", "always too late"],
)
async def test_what_leads_up_to_a_fault_is_tried_on_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: type[Reference], status: Status
) -> None:
    monkeypatch.setitem(MUTANTS, "overworked", provider)
    clock = SystemClock()
    launcher = EmbeddedLauncher(clock, "overworked")
    settings = Settings(seed_count=16, scratch=tmp_path)
    findings = await run_rows(Run(launcher, clock, settings, Pace().brisk()), [BY_ID["B701"]])
    await launcher.close()
    assert findings.of("B701").status == status
