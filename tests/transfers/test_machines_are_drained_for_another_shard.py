"""Cross-shard drains: lower machines make way for a shortfall elsewhere, by the usual rules."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import OfferReply, TransferState, TransferTier
from bigfleet.model.coordinator_calls import Done, NotYet, Refused
from bigfleet.model.memory import ReservationKind
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.shard_views import DrainStage
from tests.transfers.shards import S, Shard, drain, idle, moving, need, offer, release

DRAINING = TransferState.DRAINING
DRAIN = TransferTier.DRAIN
ASKED = offer(2, tier=DRAIN)


def donor(batch: int = 100, seconds: int = 3) -> Shard:
    """Four machines of a batch cluster, and two of a web cluster that is worth more."""
    shard = Shard(idle(6), drain_seconds={f"m-{n:02d}": seconds for n in range(6)})
    shard.report("web", need("web", 2, 5000))
    shard.run(3)
    shard.report("batch", need("batch", 4, batch))
    shard.run(3)
    assert len(shard.of("batch")) == 4
    return shard


def draining(shard: Shard, *machines: str) -> None:
    """The coordinator has chosen the victims."""
    shard.sync(transfers=[moving(DRAINING, *machines, tier=DRAIN)])


def begun(shard: Shard) -> tuple[str, ...]:
    victims = shard.asked_for(ASKED).machine_ids
    draining(shard, *victims)
    assert isinstance(shard.told(drain(*victims)), Done)
    return victims


def drained(shard: Shard, *machines: str) -> OfferReply | None:
    said = shard.sync(transfers=[moving(DRAINING, *machines, tier=DRAIN)])
    return next((reply for reply in said.offer_replies if reply.drained), None)


def test_the_victims_are_of_strictly_lower_priority_and_best_first() -> None:
    shard = donor()
    reply = shard.asked_for(ASKED)
    assert reply.machine_ids == ("m-02", "m-03")
    assert set(reply.machine_ids) <= shard.of("batch")
    assert reply.drained is False
    assert shard.reservations == {}


def test_nothing_of_the_same_priority_is_a_victim() -> None:
    reply = donor(batch=1000).asked_for(ASKED)
    assert reply.machine_ids == ()
    assert "no Configured machine that fits" in reply.declined_reason


def test_no_more_victims_than_asked_for() -> None:
    assert len(donor().asked_for(replace(ASKED, max_machines=1)).machine_ids) == 1


def test_it_is_acknowledged_when_begun_and_told_again_when_free() -> None:
    shard = donor()
    victims = begun(shard)
    assert drained(shard, *victims) is None
    assert {shard.reservations[m].kind for m in victims} == {ReservationKind.OFFER}
    shard.run(6)
    reply = drained(shard, *victims)
    assert reply is not None
    assert (reply.machine_ids, reply.declined_reason) == (victims, "")
    assert {shard.shelf[m].state for m in victims} == {S.IDLE}


def test_whom_they_were_taken_from_does_not_get_them_back() -> None:
    shard = donor()
    victims = begun(shard)
    shard.run(30)
    assert not shard.of("batch") & set(victims)
    assert len(shard.of("batch")) == 2


def test_freed_machines_are_released_like_others() -> None:
    shard = donor()
    victims = begun(shard)
    shard.run(6)
    drained(shard, *victims)
    shard.sync(transfers=[moving(TransferState.RELEASING, *victims, tier=DRAIN)])
    assert isinstance(shard.told(release(*victims)), Done)
    assert not any(map(shard.has, victims))


@pytest.mark.parametrize(
    ("priority", "grace"), [(1000, 600), (200_000, 120)], ids=["a small gap", "a larger one"]
)
def test_the_grace_is_by_the_gap(priority: int, grace: int) -> None:
    shard = Shard(idle(3))
    shard.report("batch", need("batch", 3, 100))
    shard.run(3)
    shard.sync(transfers=[moving(DRAINING, "m-00", tier=DRAIN)])
    shard.told(drain("m-00", priority=priority))
    intent = next(iter(shard.state.parts.drains.intents()))
    assert (intent.kind, intent.grace_seconds) == (ActionKind.PREEMPT, grace)


def test_a_machine_that_serves_a_higher_need_by_now_is_left_alone() -> None:
    shard = donor()
    draining(shard, "m-00", "m-02")
    assert shard.told(drain("m-00", "m-02")) == Done("1 of 2 machines drain")
    assert shard.state.parts.drains.intent("m-00") is None


def test_nothing_that_may_be_drained_is_a_refusal() -> None:
    shard = donor()
    draining(shard, "m-00")
    answer = shard.told(drain("m-00"))
    assert isinstance(answer, Refused)
    assert "m-00 serves priority 5000 by now" in answer.why
    assert shard.reservations == {}


def test_a_paused_shard_drains_nothing_until_it_is_resumed() -> None:
    shard = donor()
    victims = shard.asked_for(ASKED).machine_ids
    scope = PauseScope(kinds=(ActionKind.PREEMPT,))
    shard.pauses = (Pause("p", PauseSource.COORDINATOR, scope, "ada", "a drill"),)
    draining(shard, *victims)
    assert isinstance(shard.told(drain(*victims)), NotYet)
    assert not shard.state.parts.drains.intents()
    shard.pauses = ()
    draining(shard, *victims)
    assert isinstance(shard.told(drain(*victims)), Done)


def test_a_restart_while_they_drain_goes_on() -> None:
    shard = donor(seconds=20)
    victims = begun(shard)
    shard.run(3)
    again = shard.restarted()
    again.report("batch", need("batch", 4, 100))
    again.report("web", need("web", 2, 5000))
    again.run(2)
    assert drained(again, *victims) is None
    again.run(40)
    reply = drained(again, *victims)
    assert reply is not None
    assert reply.machine_ids == victims
    assert not again.of("batch") & set(victims)


def test_a_restart_after_they_are_free_says_so_again() -> None:
    shard = donor()
    victims = begun(shard)
    shard.run(6)
    again = shard.restarted()
    again.report("batch", need("batch", 4, 100))
    again.run(3)
    reply = drained(again, *victims)
    assert reply is not None
    assert reply.machine_ids == victims


def test_told_twice_it_is_begun_once() -> None:
    shard = donor()
    victims = begun(shard)
    before = [intent.instruction_id for intent in shard.state.parts.drains.intents()]
    assert shard.told(drain(*victims)) == Done("begun before")
    assert [i.instruction_id for i in shard.state.parts.drains.intents()] == before


def test_a_transfer_that_is_off_leaves_the_machines_where_they_are() -> None:
    shard = donor()
    shard.polite = False
    victims = begun(shard)
    stages = {shard.state.parts.drains.intent(m) for m in victims}
    assert {stage.stage for stage in stages if stage} == {DrainStage.NOTIFY}
    shard.sync(transfers=[moving(TransferState.CANCELLED, *victims, tier=DRAIN)])
    assert not shard.state.parts.drains.intents()
    shard.run(3)
    assert len(shard.of("batch")) == 4
    assert shard.reservations == {}


def test_a_drain_that_fails_frees_nothing_and_says_why() -> None:
    shard = donor()
    victims = begun(shard)
    for victim in victims:
        shard.fails(victim, "the host burns")
    shard.run(3)
    reply = drained(shard, *victims)
    assert reply is not None
    assert reply.machine_ids == ()
    assert "none became free" in reply.declined_reason


def test_the_story_says_for_whom() -> None:
    shard = donor()
    victims = begun(shard)
    shard.run(6)
    told = shard.story(victims[0])
    assert "to be drained: priority 1000 of shard-b goes first (transfer tx-1-1)" in told
    assert told[-1] == "free for transfer tx-1-1"
