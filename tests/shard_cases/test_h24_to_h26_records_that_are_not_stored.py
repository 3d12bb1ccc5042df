"""Worked cases H24 to H26: what breaks an invariant is not stored."""

import pytest

from bigfleet.model.provider_calls import MachineRecord
from tests.reconciling.rig import CONFIGURED, IDLE, Rig, record

CASES = {
    "H24 price -3": (record("m", IDLE, price_per_hour=-3.0), "price"),
    "H25 probability 1.5": (
        record("m", IDLE, interruption_probability=1.5),
        "interruption_probability",
    ),
    "H26 Configured without a cluster": (record("m", CONFIGURED, cluster=""), "structural"),
}


@pytest.mark.parametrize(("bad", "reason"), CASES.values(), ids=CASES.keys())
def test_a_bad_record_is_not_stored(bad: MachineRecord, reason: str) -> None:
    rig = Rig()
    rig.lists(bad, record("n"))
    assert rig.ids() == ["n"]
    assert rig.count("machines_rejected_total", reason=reason) == 1


@pytest.mark.parametrize(("bad", "reason"), CASES.values(), ids=CASES.keys())
def test_a_bad_record_of_a_known_machine_keeps_the_good_one(
    bad: MachineRecord, reason: str
) -> None:
    rig = Rig()
    rig.lists(record("m", IDLE))
    good = rig.machine("m")
    rig.lists(bad)
    assert rig.machine("m") == good
    assert rig.count("machines_rejected_total", reason=reason) == 1
