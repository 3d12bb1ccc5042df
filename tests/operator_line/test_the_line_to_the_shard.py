"""Sessions over real gRPC against a shard that follows a script; time moves by hand."""

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.session_frames import Acknowledgement, NodeStateUpdate, ReclaimAck
from bigfleet.operator.driving.line import HELLO_SECONDS
from tests.operator_line.rig import rigged


async def test_a_session_opens_with_two_hellos_and_the_whole_demand() -> None:
    async with rigged() as rig:
        await rig.until(lambda: bool(rig.rollups()) and rig.hellos() == 1)
        hello = rig.shard.hellos[1]
        assert hello.cluster_id == "east"
        assert hello.features == {"reclaim-done"}
        assert rig.rollups() == [b"rollup 1"]
        assert rig.ear.told == ["connected", "sent"]
        assert rig.counts.of("connected") == 1


async def test_the_second_hello_comes_back_when_all_has_been_told_again() -> None:
    async with rigged() as rig:
        await rig.until(lambda: rig.hellos() == 1)
        update = NodeStateUpdate("m-1", "east", MachineState.CONFIGURED)
        assert not rig.line.replayed
        rig.shard.put(1, update, Acknowledgement("hello"), Acknowledgement("rollup"))
        await rig.until(lambda: "acked" in rig.ear.told)
        assert [t for t in rig.ear.told if t != "sent"] == [
            "connected",
            "frame",
            "replayed",
            "acked",
        ]
        assert rig.ear.frames == [update]


async def test_nothing_is_reported_from_a_cluster_that_is_not_wholly_known() -> None:
    async with rigged() as rig:
        rig.known.trustworthy = False
        await rig.until(lambda: rig.line.connected)
        await rig.clock.advance(120)
        assert rig.rollups() in ([], [b"rollup 1"])
        before = len(rig.rollups())
        rig.known.version, rig.known.trustworthy = 2, True
        await rig.clock.advance(1)
        await rig.until(lambda: len(rig.rollups()) > before)
        assert rig.rollups()[-1] == b"rollup 2"


async def test_a_refused_session_tells_the_cluster_nothing_and_is_dialled_again() -> None:
    refusal = Rejected(Code.PERMISSION_DENIED, "the certificate names another cluster")
    async with rigged(refuses=refusal) as rig:
        await rig.until(lambda: len(rig.shard.refusals) == 1)
        await rig.until(lambda: rig.counts.of("session_reconnects_total") == 1)
        assert rig.ear.told == []
        rig.shard.refuses = None
        await rig.clock.advance(1)
        await rig.until(lambda: "connected" in rig.ear.told)


async def test_a_lost_session_is_told_once_and_begins_anew() -> None:
    async with rigged() as rig:
        await rig.until(lambda: bool(rig.rollups()))
        rig.endpoint.end(1, Rejected(Code.ABORTED, "another session of this cluster is newer"))
        await rig.until(lambda: "disconnected" in rig.ear.told)
        assert not rig.line.connected
        rig.line.say(ReclaimAck("bf1-1", 1))
        await rig.clock.advance(1)
        await rig.until(lambda: len(rig.rollups()) == 2)
        assert rig.ear.told.count("disconnected") == 1
        assert not any(isinstance(f, ReclaimAck) for _, f in rig.shard.heard)


async def test_an_answer_goes_out_without_waiting_for_the_next_look() -> None:
    async with rigged() as rig:
        await rig.until(lambda: rig.line.connected)
        rig.line.say(ReclaimAck("bf1-1", 1))
        await rig.until(lambda: any(isinstance(f, ReclaimAck) for _, f in rig.shard.heard))


async def test_more_answers_than_may_wait_end_the_session_and_lose_none_silently() -> None:
    async with rigged(outbox=4) as rig:
        await rig.until(lambda: rig.line.connected)
        for number in range(5):
            rig.line.say(ReclaimAck(f"bf1-{number}", 1))
        await rig.until(lambda: "disconnected" in rig.ear.told)
        assert rig.counts.of("outbox_dropped_total") == 0
        await rig.clock.advance(1)
        await rig.until(lambda: rig.ear.told.count("connected") == 2)


async def test_a_shard_that_never_answers_the_hello_is_left() -> None:
    async with rigged(mute=True) as rig:
        await rig.until(lambda: 1 in rig.shard.hellos)
        began = rig.clock.now()
        await rig.until_in_time(lambda: rig.counts.of("session_reconnects_total") == 1)
        assert rig.clock.now() - began >= HELLO_SECONDS * SECOND
        assert rig.ear.told == []


async def test_a_rollup_the_shard_did_not_take_is_counted_when_the_next_one_goes() -> None:
    async with rigged() as rig:
        await rig.until(lambda: len(rig.rollups()) == 1)
        await rig.until_in_time(lambda: rig.sent() == 2)
        await rig.until(lambda: len(rig.rollups()) == 2)
        assert rig.counts.of("rollups_unacked_total") == 1
        rig.shard.put(1, Acknowledgement("rollup"))
        await rig.until(lambda: "acked" in rig.ear.told)
        await rig.until_in_time(lambda: rig.sent() == 3)
        await rig.until(lambda: len(rig.rollups()) == 3)
        assert rig.counts.of("rollups_unacked_total") == 1
