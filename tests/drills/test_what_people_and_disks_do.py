"""Forgotten pause, full disk, zero demand: in one live fleet, one after the other.

It lives slowly: a roll-up without demand is held for twenty of its seconds only, and a coordinator
ends after thirty without its disk.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.drills.faults import DISK_FULL, FORGOTTEN_PAUSE, ZERO_DEMAND
from tests.drills.live_up import WAITING, LiveUp, living_up
from tests.drills.steered_demand import OWNED

SPEED = 0.5


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveUp]:
    with living_up(tmp_path_factory.mktemp("up"), SPEED, {"batch": OWNED - 4}) as live:
        yield live


def test_a_forgotten_pause(up: LiveUp) -> None:
    up.shown("pause", "--owner", "ada", "--reason", "strange reclaims, looking")
    up.wants("batch", OWNED - 2)
    found = up.until_told(FORGOTTEN_PAUSE, WAITING)
    assert found.cause.endswith(": strange reclaims, looking")
    waiting = up.shown("needs", "--unmet")
    assert "rail.paused" in waiting
    assert found.remedy.removeprefix("to lift it: ") in waiting

    up.shown(*found.command(WHY="ada has gone home"))
    up.until_met()
    up.until_gone(FORGOTTEN_PAUSE)


@contextmanager
def no_room(pid: int) -> Iterator[None]:
    """Nothing the process writes reaches a file: as on a disk that is full, without being root."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def test_a_full_disk(up: LiveUp) -> None:
    with no_room(up.process.pid):
        up.wants("batch", OWNED - 1)
        found = up.until_told(DISK_FULL)
        assert found.remedy.endswith("/shard-0")
    up.until_gone(DISK_FULL)
    up.until_met()


def test_zero_demand(up: LiveUp) -> None:
    before = up.machines_in_use()
    up.wants("batch", 0)
    found = up.until_told(ZERO_DEMAND)
    assert "(0 rows after 1, and 0 of " in found.cause
    assert "it keeps its machines" in found.cause
    assert up.machines_in_use() == before

    up.shown(*found.command(WHY="etl has moved away"))
    up.until_gone(ZERO_DEMAND)
    up.until_fewer(before)
