"""A record without a name: it says nothing, and takes nothing away."""

from tests.reconciling.rig import CONFIGURED, Rig, record


def test_beside_a_record_without_a_name_no_machine_is_taken_for_gone() -> None:
    rig = Rig()
    rig.lists(record("m1", CONFIGURED), record("m2", CONFIGURED))
    for _ in range(5):
        rig.lists(record("m1", CONFIGURED), record("", CONFIGURED))
    assert rig.ids() == ["m1", "m2"]
    assert rig.count("machines_unseen", provider="acme") == 1
    rig.lists(record("m1", CONFIGURED))
    rig.lists(record("m1", CONFIGURED))
    assert rig.ids() == ["m1"]
