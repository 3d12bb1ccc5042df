"""When a margin is raised, by how much, and what it never does."""

from dataclasses import replace

import pytest

from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.placement.margin_notes import NoteKind
from tests.placement.situation import MACHINE, Situation
from tests.placement.small import alone, amounts, node, pod


def six_of_five() -> Situation:
    """Six pods of 5 cpu on four machines of 8: two are stuck, and the Need is met."""
    given = Situation()
    given.nodes(4)
    given.put(*(pod(f"p{n}", "5", node=f"n{n}") for n in range(1, 5)))
    given.stuck(pod("p5", "5"), pod("p6", "5"))
    given.after(10)
    return given


def test_stuck_pods_of_a_delivered_need_raise_its_margin_by_the_machines_they_take() -> None:
    given = six_of_five()
    assert given.round(own=4)
    assert given.margin == "cpu 13"
    assert [note.kind for note in given.notes] == [NoteKind.RAISED]


def test_the_own_row_stays_the_sum_of_requests_and_the_margin_comes_last() -> None:
    given = six_of_five()
    given.round(own=4)
    own, margin = given.send()
    assert own == given.own()
    assert (margin.group, margin.profile, margin.min_unit) == ("margin", own.profile, own.min_unit)


def test_a_margin_stays_when_the_pods_are_placed() -> None:
    given = six_of_five()
    given.round(own=4)
    given.send()
    given.nodes(2, first=5)
    given.bind("p5", "n5")
    given.bind("p6", "n6")
    given.round(own=4, margin=2)
    assert given.margin == "cpu 13"


@pytest.mark.parametrize("seconds", [0, 9.9], ids=["just judged", "within the grace"])
def test_pods_stuck_for_a_moment_do_not_count(seconds: float) -> None:
    given = six_of_five()
    given.after(seconds - 10)
    assert not given.round(own=4)
    assert given.margin == ""


def test_pods_not_judged_since_the_last_node_came_do_not_count_for_a_minute() -> None:
    given = six_of_five()
    given.nodes(1, first=9)
    given.put(pod("p9", "5", node="n9"))
    given.after(59)
    assert not given.round(own=5)
    given.after(1)
    assert given.round(own=5)


def test_pods_judged_again_count_after_a_moment() -> None:
    given = six_of_five()
    given.nodes(1, first=9)
    given.put(pod("p9", "5", node="n9"))
    given.judge_again()
    given.after(2)
    assert given.round(own=5)


def test_a_machine_that_is_gone_and_still_counted_is_waited_for() -> None:
    given = Situation()
    given.stuck(pod("p1", "5"))
    given.after(10)
    assert not given.round(own=1)
    given.after(59)
    assert not given.round(own=1)
    given.after(1)
    assert given.round(own=1)


def test_a_verdict_that_was_on_its_way_when_the_node_came_buys_nothing() -> None:
    given = six_of_five()
    given.nodes(2, first=9)
    given.judge_again()
    assert not given.round(own=6)
    given.after(1)
    given.bind("p5", "n9")
    given.bind("p6", "n10")
    given.after(1)
    assert not given.round(own=6)
    assert given.margin == ""


@pytest.mark.parametrize(
    "reason",
    ["short", "arriving", "a Node that is not usable"],
)
def test_a_need_that_is_not_delivered_is_not_revised(reason: str) -> None:
    given = six_of_five()
    if reason == "a Node that is not usable":
        given.occupancy.put_node(node("n7", why_not_usable="not Ready"), given.at)
    given.send()
    given.reply(own=3 if reason == "short" else 4, arriving=reason == "arriving")
    assert not given.turn()


def test_machines_on_their_way_are_subtracted() -> None:
    given = six_of_five()
    given.round(own=4)
    given.stuck(pod("p7", "5"))
    given.occupancy.put_node(node("n5", since=given.at, cordoned=True), given.at)
    given.judge_again()
    given.after(10)
    given.send()
    given.reply(own=5, margin=2, coming=2)
    given.turn()
    assert given.margin == "cpu 21"


def test_a_round_asks_for_at_most_as_many_machines_as_the_need_has_or_three() -> None:
    given = Situation()
    given.nodes(1)
    given.put(alone("first", node="n1"))
    given.stuck(*(alone(f"p{n}", "100m") for n in range(10)))
    given.after(10)
    given.round(own=1)
    assert given.margin == "memory 65Gi"


def test_only_the_scarcest_dimension_counts() -> None:
    given = Situation()
    given.nodes(1)
    given.put(pod("a", "1", "20Gi", node="n1"))
    given.stuck(pod("b", "1", "11Gi"))
    given.occupancy.put_pod(pod("d", "1", "2Gi", node="n1", follows_node=True), given.at)
    given.after(10)
    given.round(own=1)
    assert given.margin == "memory 11Gi"


def test_where_our_own_check_sees_room_one_machine_is_asked_for_at_a_time() -> None:
    given = Situation()
    given.nodes(2)
    given.put(pod("a", "6", node="n1"))
    given.stuck(pod("b", "1"), pod("c", "1"))
    given.after(10)
    given.round(own=1)
    assert given.margin == "cpu 1"


def test_repeated_replies_and_turns_change_nothing() -> None:
    given = six_of_five()
    given.round(own=4)
    before = given.margin
    for _ in range(3):
        given.send()
        given.reply(own=4, margin=0)
        assert not given.turn()
    assert (given.margin, given.margins.figures.rounds) == (before, 1)


def test_without_an_answer_as_it_was_sent_nothing_is_revised() -> None:
    given = six_of_five()
    given.send()
    given.reply(own=4)
    given.stuck(pod("p7", "1"))
    given.send()
    given.margins.on_disconnected()
    assert not given.turn()


def test_an_answer_about_other_demand_is_not_used() -> None:
    given = six_of_five()
    given.send()
    answered = given.sent
    given.stuck(pod("p7", "1"))
    given.send()
    given.after(5)
    given.sent = answered
    given.reply(own=4)
    assert not given.turn()


def test_an_answer_about_the_roll_up_just_before_the_last_is_used() -> None:
    given = six_of_five()
    given.send()
    answered = given.sent
    given.stuck(pod("p7", "1"))
    given.send()
    given.after(1)
    given.sent = answered
    given.reply(own=4)
    assert given.turn()


def test_an_old_answer_is_not_used() -> None:
    given = six_of_five()
    given.send()
    given.reply(own=4)
    given.after(30)
    assert not given.turn()


def test_a_shard_that_does_not_tell_what_it_counts_is_named_once() -> None:
    given = six_of_five()
    for _ in range(2):
        given.send()
        given.reply(own=4)
    standing = given.margins._confirmed[given.need]
    for _ in range(2):
        given.answer([replace(standing, wanted=None)])
        assert not given.turn()
    assert [note.kind for note in given.notes] == [NoteKind.NOT_REVISED]


def test_pods_that_leave_take_their_part_of_the_margin() -> None:
    given = six_of_five()
    given.round(own=4)
    for n in (1, 2, 3):
        given.occupancy.remove_pod(f"uid-p{n}", given.at)
    given.send()
    assert given.margin == "cpu 6500m"


def test_pods_that_land_in_the_margins_room_do_not_make_it_buy() -> None:
    given = six_of_five()
    given.round(own=4)
    given.nodes(2, first=5)
    given.bind("p5", "n5")
    given.bind("p6", "n6")
    given.round(own=4, margin=2)
    given.put(pod("p7", "3", node="n5"))
    assert [row.aggregate for row in given.send()] == [
        amounts("33", "7Gi"),
        amounts("8", "0").positive(),
    ]


def test_a_margin_no_pod_waits_for_is_at_most_what_its_row_has() -> None:
    given = six_of_five()
    given.round(own=4)
    given.send()
    given.occupancy.remove_pod("uid-p5", given.at)
    given.occupancy.remove_pod("uid-p6", given.at)
    given.send()
    given.reply(own=3)
    given.turn()
    assert given.margin == ""


def test_events_come_once_per_controller_and_five_minutes() -> None:
    given = six_of_five()
    given.round(own=4)
    given.stuck(pod("p7", "5"), pod("q1", "5", owner="batch"))
    given.occupancy.put_node(node("n5", since=given.at, cordoned=True), given.at)
    given.judge_again()
    given.after(10)
    given.send()
    given.reply(own=5, margin=2, coming=2)
    given.turn()
    assert [note.pods[0].owner for note in given.notes] == ["web", "batch"]


def test_a_strict_spread_need_carries_the_margin_in_its_row() -> None:
    strict = Spread(ZONE_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)
    given = Situation(Profile.of(spread=[strict]))
    given.nodes(2)
    given.put(pod("a", "5", node="n1"), pod("b", "5", node="n2"))
    given.stuck(pod("c", "5"))
    given.after(10)
    assert given.round(own=2)
    (row,) = given.send()
    assert row.aggregate["cpu"] == 16_000 + 5_000
    given.reply(own=3)
    given.bind("c", "n2")
    given.turn()
    assert [row.aggregate["cpu"] for row in given.send()] == [21_000]


GANG = Profile.of([Requirement.of(RACK_KEY, Operator.SAME)])


def gang(cpu: str) -> Situation:
    given = Situation(GANG, group="run-1")
    for number in (1, 2):
        labelled = node(f"n{number}", labels={RACK_KEY: "r1"})
        given.occupancy.put_node(labelled, given.at)
    given.overheads.look(given.occupancy, given.at)
    given.put(pod("a", cpu, node="n1"))
    given.stuck(pod("b", cpu))
    given.after(10)
    return given


def test_gangs_that_fit_one_machine_get_a_margin_of_whole_gangs_without_same() -> None:
    given = gang("3")
    assert given.round(own=1)
    _, margin = given.send()
    assert margin.profile.same is None
    assert margin.min_unit == amounts("6", "2Gi")
    assert margin.aggregate == amounts("6", "0").positive()
    assert margin.group.startswith("margin:gang:")


def test_gangs_that_span_machines_get_an_event_and_no_margin() -> None:
    given = gang("6")
    assert not given.round(own=2)
    assert given.margin == ""
    assert [note.kind for note in given.notes] == [NoteKind.GANG_SPANS]


def test_the_reply_is_asked_for_needs_that_wait_and_their_margins() -> None:
    given = six_of_five()
    given.send()
    fingerprint = given.need.fingerprint
    assert given.margins.asks() == [(fingerprint, "margin"), (fingerprint, "")]
    assert MACHINE.covers(given.own().min_unit)
