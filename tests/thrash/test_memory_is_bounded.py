"""What the detector remembers goes when it is too old, and never grows past its limits."""

import pytest

from bigfleet.thrash import chains
from bigfleet.thrash import detector as module
from tests.thrash.traces import Told, need


def busy_hour(told: Told, steps: int = 400) -> None:
    for step in range(steps):
        told.reclaim(f"m-{step}", need(f"c{step}"))
        told.preempt(f"v-{step}", need(f"c{step}"), need(f"d{step}"))
        told.drained(f"v-{step}")
        told.release(f"o-{step}", offering=f"cloud/t{step}/a/Spot")
        told.bind(f"b-{step}", need(f"c{step}"))


def test_everything_is_forgotten_after_the_window() -> None:
    told = Told()
    busy_hour(told)
    told.wait(1801)
    told.bind("one-more", need("x"))
    sizes = told.detector.sizes()
    assert sizes.pop("thrashMoves") == 1
    assert set(sizes.values()) == {0}


def test_what_is_under_way_is_kept_until_it_ends() -> None:
    told = Told()
    told.preempt("v-1", need("a"), need("b"))
    told.wait(7200)
    told.bind("x", need("x"))
    assert told.detector.sizes()["thrashLeaving"] == 1
    told.detector.forget("v-1")
    assert told.detector.sizes()["thrashLeaving"] == 0


@pytest.mark.parametrize("limit", ["MOST_MACHINES", "MOST_RELEASES", "MOST_NEEDS", "MOST_VICTIMS"])
def test_limits_hold_within_the_window_too(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (module, chains):
        monkeypatch.setattr(each, limit, 10, raising=False)
    told = Told()
    busy_hour(told, 100)
    for step in range(100):
        told.preempt(f"w-{step}", need("a"), need("b"), lacking=1000)
        told.release(f"p-{step}")
    told.wait(61)
    told.bind("x", need("x"))
    sizes = told.detector.sizes()
    one_offering, one_need = 100 + 10, 100 + 10
    bounds = {
        "MOST_MACHINES": ("thrashMoves", 10),
        "MOST_RELEASES": ("thrashReleases", one_offering),
        "MOST_NEEDS": ("thrashLosses", 10),
        "MOST_VICTIMS": ("thrashVictims", one_need),
    }
    name, bound = bounds[limit]
    assert sizes[name] <= bound
