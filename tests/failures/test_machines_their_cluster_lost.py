"""A machine without a living Node is not supply, and goes back to its provider."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.model.actions import ActionKind
from bigfleet.model.cluster_reports import LostCause
from bigfleet.model.machines import MachineState
from bigfleet.model.pauses import PauseScope
from bigfleet.model.settings import Seconds
from bigfleet.shard.rails.pauses import PauseRequest
from bigfleet.shard.settings import DeadlineSettings, DrainSettings, ShardSettings
from tests.failures.lost_rig import GONE, NEVER, SICK, LostRig
from tests.shard_cases.rig import machine

S = MachineState


def with_deadlines(**said: object) -> ShardSettings:
    return ShardSettings(deadlines=replace(DeadlineSettings(), **said))  # type: ignore[arg-type]


def test_a_machine_whose_node_is_gone_is_given_back_without_its_operator() -> None:
    rig = LostRig(3)
    rig.tell(m_1=GONE)
    assert rig.draining() == {"m-1": 0}
    assert rig.instructions == []
    assert "lost: its Node is gone from shop" in rig.story("m-1")
    assert rig.counts.of("machines_lost_total", cause="node_gone") == 1
    assert rig.counts.of("machine_failures_total", cause="join") == 1
    rig.drained()
    assert rig.states()["m-1"] is S.IDLE
    assert rig.lost() == []


def test_it_is_replaced() -> None:
    rig = LostRig(3)
    rig.insert(machine("spare", S.IDLE))
    rig.tell(m_1=GONE)
    rig.cycle()
    assert rig.states()["spare"] is S.CONFIGURING


def test_a_machine_that_never_joined_is_lost_when_its_time_to_join_is_over() -> None:
    rig = LostRig(3)
    rig.tell(m_1=NEVER)
    rig.pass_time(898, reporting=True)
    assert rig.draining() == {}
    rig.pass_time(1, reporting=True)
    assert rig.draining() == {"m-1": 0}
    assert "lost: it never joined shop" in rig.story("m-1")


def test_a_provider_may_have_a_time_to_join_of_its_own() -> None:
    rig = LostRig(3, with_deadlines(of_provider=("cloud.join=1m",)))
    rig.tell(m_1=NEVER)
    rig.pass_time(58, reporting=True)
    assert rig.draining() == {}
    rig.pass_time(1, reporting=True)
    assert rig.draining() == {"m-1": 0}


def test_a_machine_that_was_there_before_the_shard_began_has_its_whole_time_again() -> None:
    rig = LostRig(3, with_deadlines(join=Seconds(60.0)))
    rig.pass_time(50)
    again = rig.restarted(3)
    again.tell(m_1=NEVER)
    again.pass_time(50, reporting=True)
    assert again.draining() == {}
    again.pass_time(9, reporting=True)
    assert again.draining() == {"m-1": 0}


def test_a_node_that_joins_late_keeps_its_machine() -> None:
    rig = LostRig(3)
    rig.tell(m_1=NEVER)
    rig.pass_time(800, reporting=True)
    rig.tell()
    rig.pass_time(200, reporting=True)
    assert rig.draining() == {}


def test_an_operator_that_never_reports_changes_nothing() -> None:
    rig = LostRig(3)
    rig.pass_time(3600)
    assert (rig.draining(), rig.lost(), rig.overdue()) == ({}, [], [])


@pytest.mark.parametrize("state", [S.IDLE, S.CONFIGURED])
def test_machines_of_others_are_not_given_back(state: MachineState) -> None:
    rig = LostRig(3)
    rig.insert(machine("theirs", state, "bank" if state is S.CONFIGURED else ""))
    rig.tell(theirs=GONE)
    assert rig.draining() == {}
    assert rig.counts.of("report_machines_ignored_total", list="lost") == 1


# -- repair ----------------------------------------------------------------------------------------


def test_an_unhealthy_machine_is_evicted_by_its_operator_first() -> None:
    rig = LostRig(3)
    rig.tell(m_1=SICK)
    assert rig.draining() == {}
    assert [each.nodes for each in rig.instructions] == [("m-1",)]
    (told,) = rig.instructions
    assert rig.state.parts.drains.preemptions("shop") == (told.instruction_id,)
    assert rig.overdue() == ["m-1"]
    assert rig.counts.of("machine_failures_total", cause="unhealthy") == 1
    rig.acknowledge()
    rig.acknowledge()
    assert list(rig.draining()) == ["m-1"]


def test_pods_that_cannot_leave_do_not_keep_it() -> None:
    rig = LostRig(3)
    rig.tell(m_1=SICK)
    rig.acknowledge()
    rig.pass_time(599, reporting=True)
    assert rig.draining() == {}
    rig.pass_time(1, reporting=True)
    assert rig.draining() == {"m-1": 0}


def test_an_operator_that_does_not_answer_keeps_it_and_is_asked_again_later() -> None:
    drain = DrainSettings(reclaim_grace=Seconds(60.0), abort_backoff=Seconds(100.0))
    rig = LostRig(3, ShardSettings(drain=drain))
    rig.tell(m_1=SICK)
    rig.pass_time(60, reporting=True)
    assert rig.draining() == {}
    assert rig.counts.of("drains_aborted_total", reason="pdb") == 1
    rig.pass_time(99, reporting=True)
    assert len(rig.instructions) == 1
    rig.pass_time(2, reporting=True)
    assert len(rig.instructions) == 2


def test_a_node_that_recovers_before_the_provider_was_called_keeps_its_machine() -> None:
    rig = LostRig(3)
    rig.tell(m_1=SICK)
    rig.acknowledge()
    rig.tell()
    assert (rig.lost(), rig.overdue(), rig.draining()) == ([], [], {})
    assert rig.state.parts.drains.intent("m-1") is None
    assert "not lost after all: its Node is back" in rig.story("m-1")


def test_a_cycle_that_began_before_does_not_claim_it_again() -> None:
    rig = LostRig(3)
    given = rig.state.begin_cycle(rig.at)
    rig.tell(m_1=SICK)
    rig.end_cycle(given)
    assert rig.state.parts.drains.intent("m-1") is not None


def test_once_the_provider_drains_it_is_too_late() -> None:
    rig = LostRig(3)
    rig.tell(m_1=GONE)
    rig.tell()
    assert rig.draining() == {"m-1": 0}
    rig.drained()
    assert rig.states()["m-1"] is S.IDLE


# -- little at once --------------------------------------------------------------------------------


def names(count: int) -> list[str]:
    return [f"m_{number}" for number in range(count)]


def test_a_fifth_of_a_cluster_is_given_back_at_a_time() -> None:
    rig = LostRig(20)
    rig.tell(**dict.fromkeys(names(10), GONE))
    assert len(rig.draining()) == 4
    assert rig.counts.of("lost_machines_waiting") == 6
    rig.pass_time(60, reporting=True)
    assert len(rig.draining()) == 4


def test_the_next_ones_follow_when_the_first_are_gone_and_half_a_minute_has_passed() -> None:
    rig = LostRig(20)
    rig.tell(**dict.fromkeys(names(10), GONE))
    rig.drained()
    rig.pass_time(29, reporting=True)
    assert rig.draining() == {}
    rig.pass_time(1, reporting=True)
    assert len(rig.draining()) == 3


def test_of_a_small_cluster_one_goes_at_a_time() -> None:
    rig = LostRig(2)
    rig.tell(m_0=GONE, m_1=GONE)
    assert len(rig.draining()) == 1


def test_no_unhealthy_machine_goes_while_more_than_a_fifth_are() -> None:
    rig = LostRig(20)
    rig.tell_unhealthy(5, m_1=SICK)
    assert rig.instructions == []
    rig.tell_unhealthy(4, m_1=SICK)
    assert len(rig.instructions) == 1


def test_a_report_that_calls_everything_unhealthy_takes_nothing() -> None:
    rig = LostRig(20)
    rig.tell(**dict.fromkeys(names(5), SICK))
    rig.pass_time(1000, reporting=True)
    assert rig.instructions == []


def test_a_report_that_gives_up_more_than_half_must_hold_for_five_minutes() -> None:
    rig = LostRig(20)
    rig.tell(**dict.fromkeys(names(11), GONE))
    assert len(rig.logs("lost_doubted")) == 1
    rig.pass_time(299, reporting=True)
    assert rig.draining() == {}
    rig.pass_time(1, reporting=True)
    assert len(rig.draining()) == 4


def test_a_doubted_report_that_is_taken_back_begins_anew() -> None:
    rig = LostRig(20)
    rig.tell(**dict.fromkeys(names(11), GONE))
    rig.pass_time(290, reporting=True)
    rig.tell()
    rig.tell(**dict.fromkeys(names(11), GONE))
    rig.pass_time(290, reporting=True)
    assert rig.draining() == {}


# -- what holds it back ----------------------------------------------------------------------------


def pause(rig: LostRig) -> None:
    scope = PauseScope(kinds=(ActionKind.RECLAIM,))
    rig.state.parts.pauses.pause(PauseRequest("ada", "a test", scope), rig.at)


def test_while_reclaims_are_paused_nothing_is_given_up() -> None:
    rig = LostRig(3)
    pause(rig)
    rig.tell(m_1=GONE)
    assert (rig.lost(), rig.draining()) == ([], {})
    assert rig.counts.of("lost_machines_waiting") == 1
    rig.state.parts.pauses.resume("", True, rig.at, "ada", "done")
    rig.pass_time(1)
    assert rig.draining() == {"m-1": 0}


def test_a_dry_run_gives_nothing_up() -> None:
    rig = LostRig(3, ShardSettings(dry_run=True))
    rig.tell(m_1=GONE)
    assert (rig.lost(), rig.draining()) == ([], {})


def test_a_cluster_that_goes_says_nothing_more() -> None:
    rig = LostRig(3)
    rig.tell(m_1=NEVER)
    rig.disconnect()
    rig.pass_time(2000)
    assert rig.draining() == {}


# -- what is remembered ----------------------------------------------------------------------------


def test_a_mark_survives_a_restart() -> None:
    rig = LostRig(3)
    rig.tell(m_1=SICK)
    again = rig.restarted(3)
    again.pass_time(1)
    assert (again.lost(), again.overdue()) == (["m-1"], ["m-1"])
    again.tell(m_1=SICK)
    again.acknowledge()
    again.acknowledge()
    assert list(again.draining()) == ["m-1"]
    again.drained()
    assert again.stored["lost"] == {}


def test_a_restart_in_the_middle_of_a_drain_without_pods_goes_on_with_it() -> None:
    rig = LostRig(3)
    rig.tell(m_1=GONE)
    again = rig.restarted(3)
    again.pass_time(1)
    assert again.draining() == {"m-1": 0}
    assert again.instructions == []


def test_a_mark_of_a_machine_that_never_shows_again_ends() -> None:
    rig = LostRig(3)
    rig.tell(m_1=SICK)
    again = rig.restarted(1)
    again.pass_time(3601)
    assert again.stored.get("lost", {}) == {}
    assert len(again.state.parts.lost) == 0


def test_a_mark_that_cannot_be_read_is_dropped() -> None:
    rig = LostRig(1, stored={"lost": {"m-0": b"?"}})
    rig.pass_time(1)
    assert rig.lost() == []


def test_machines_that_never_join_again_and_again_make_their_offering_rest() -> None:
    rig = LostRig(20, with_deadlines(join=Seconds(60.0)))
    rig.tell(**dict.fromkeys(names(3), NEVER))
    rig.pass_time(60, reporting=True)
    (resting,) = rig.state.parts.offerings.views()
    assert resting.kind == "join"


def test_nodes_that_people_delete_do_not_make_an_offering_rest() -> None:
    rig = LostRig(20)
    rig.tell(**dict.fromkeys(names(4), GONE))
    assert rig.state.parts.offerings.views() == ()


def test_a_machine_that_is_lost_three_times_rests() -> None:
    rig = LostRig(5)
    rig.tell(m_1=GONE)
    rig.drained()
    failures = rig.state.parts.failures
    for _ in range(2):
        failures.note_lost("m-1", "join", "again", rig.at)
    assert failures.is_resting("m-1")


def test_people_see_why_a_machine_is_lost() -> None:
    rig = LostRig(3)
    rig.tell(m_1=SICK)
    assert rig.state.machine_views.view("m-1").lost == "unhealthy"
    assert rig.state.dump()["lostMachines"] == 1


# -- the law ---------------------------------------------------------------------------------------

MACHINES = 12
REPORTS = st.dictionaries(st.sampled_from(names(MACHINES)), st.sampled_from([GONE, NEVER, SICK]))
STEPS = st.lists(st.tuples(REPORTS, st.integers(1, 400), st.booleans()), min_size=1, max_size=6)


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_at_most_a_fifth_of_the_reported_machines_is_lost_at_a_time(
    steps: list[tuple[dict[str, LostCause], int, bool]],
) -> None:
    rig = LostRig(MACHINES, with_deadlines(join=Seconds(60.0)))
    reported: set[str] = set()
    for report, seconds, is_drained in steps:
        rig.tell(**report)
        reported |= {name.replace("_", "-") for name in report}
        for _ in range(0, seconds, 10):
            rig.pass_time(10, reporting=True)
            leaving = {*rig.lost(), *rig.draining()}
            assert len(leaving) <= MACHINES // 5
            assert leaving <= reported
            states = rig.states()
            not_credited = {m for m in rig.overdue() if states[m] is S.CONFIGURED}
            assert not_credited == set(rig.lost())
        if is_drained:
            rig.drained()
