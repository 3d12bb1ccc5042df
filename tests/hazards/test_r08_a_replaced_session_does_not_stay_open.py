"""R08: of many sessions of one cluster exactly the newest stands."""

from bigfleet.model.provider_calls import Code
from tests.sessions.rig import Rig


def test_r08_a_hundred_reconnects_leave_one_session() -> None:
    rig = Rig([f"m{i}" for i in range(10)])
    for number in range(1, 101):
        rig.open(number)
    ends = rig.ended()
    assert [end.session for end in ends] == list(range(1, 100))
    assert {end.code for end in ends} == {Code.ABORTED}
    assert len(rig.sessions) == 1
    assert rig.sessions.cluster_of(100) == "shop"
    assert [number for number in range(1, 100) if rig.sessions.cluster_of(number)] == []


def test_r08_what_the_older_stream_still_says_is_dropped() -> None:
    rig = Rig()
    rig.open(1)
    rig.open(2)
    rig.repeat(1)
    rig.close(1)
    assert rig.read(1) == []
    assert rig.sessions.is_open("shop")
    assert len(rig.read(2)) == 1
