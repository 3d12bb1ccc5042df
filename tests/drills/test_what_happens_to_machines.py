"""Provider gone, spot wave, stock-out, quota used up, lost Nodes: in one live fleet, one after the
other, each mended before the next.

Every drill has the form of a night: something happens, `bigfleet status` tells the cause and what
to do next, and that is done. Where a second command is run to know more, it is the one that the
first has told.
"""

import shlex
from collections.abc import Iterator

import pytest

from tests.drills.faults import (
    LOST_NODES,
    PROVIDER_GONE,
    QUOTA_USED_UP,
    SPOT_WAVE,
    STOCK_OUT,
)
from tests.drills.live_up import WAITING, LiveUp, living_up
from tests.drills.steered_demand import OWNED

#: A minute of the fleet takes six seconds.
SPEED = 10.0


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveUp]:
    with living_up(tmp_path_factory.mktemp("up"), SPEED, {"batch": OWNED - 4}) as live:
        yield live


def test_a_provider_that_is_gone(up: LiveUp) -> None:
    up.sim("outage", "on")
    up.wants("batch", OWNED - 2)
    found = up.until_told(PROVIDER_GONE, WAITING)
    assert "(UNAVAILABLE: " in found.cause
    waiting = up.shown(*found.command())
    assert "rail.breaker" in waiting
    assert "to lift it: bring provider sim back" in waiting

    up.sim("outage", "off")
    up.until_met()
    up.until_gone(PROVIDER_GONE)


def test_a_spot_wave(up: LiveUp) -> None:
    up.wants("batch", OWNED + 3)
    up.until_met()
    up.sim("interrupt", "capacity=spot", "1", "0s")
    found = up.until_told(SPOT_WAVE)
    assert found.cause.startswith("batch lost ")
    assert found.cause.endswith("(spot: the host was taken back)")
    assert "as of cycle" in up.shown(*found.command())
    up.until_met()


def test_a_stock_out(up: LiveUp) -> None:
    for capacity in ("on_demand", "spot"):
        up.sim("stock", f"capacity={capacity}", "0")
    up.wants("batch", OWNED + 6)
    found = up.until_told(STOCK_OUT, "; so do", WAITING)
    assert found.cause.startswith("offering sim/")
    resting = up.shown(*found.command())
    [reset] = [line for line in resting.splitlines() if "--reset" in line]

    for capacity in ("on_demand", "spot"):
        up.sim("stock", f"capacity={capacity}", "inf")
    up.shown(*shlex.split(reset.replace("WHY", "'stock is back'"))[1:])
    for item in up.document("reports", "offerings")["items"]:
        # One that was bought meanwhile rests no more.
        up.bigfleet("reports", "offerings", "--reset", item["name"], "--reason", "stock is back")
    up.until_met()


def test_a_quota_that_is_used_up(up: LiveUp) -> None:
    place = ("--provider", "sim", "--region", "sim")
    granted = str(up.machines_in_use())
    up.shown("quotas", "set", *place, "--total", granted, "--force", "--reason", "a drill")
    up.wants("batch", OWNED + 8)
    found = up.until_told(QUOTA_USED_UP, WAITING)
    assert f"all {granted} machines" in found.cause
    # One or several, in the cycle that says so.
    up.until_shown(r"slots? that fits? (is|are) beyond the quota of sim in sim", "needs", "--unmet")

    up.shown(*found.command(TOTAL="1000", WHY="the contract has grown"))
    up.until_met()
    up.until_gone(QUOTA_USED_UP)


def test_lost_nodes(up: LiveUp) -> None:
    up.loses_nodes("batch", 2)
    found = up.until_told(LOST_NODES)
    story = up.shown(*found.command())
    assert "lost: its Node is gone from batch" in story
    up.until_met()
