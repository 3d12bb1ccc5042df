"""A List that undoes what the shard has just done is believed only when a Get says the same."""

from dataclasses import replace

from bigfleet.model.machines import Assigned
from bigfleet.model.provider_calls import Code, MachineRecord, Rejected
from bigfleet.shard.events import CallAnswered
from bigfleet.shard.instructions import CallProvider, GetCall
from tests.reconciling.rig import CONFIGURED, CREATING, DRAINING, IDLE, SPECULATIVE, Rig, record


def freed() -> Rig:
    """A machine of shop that the shard has drained."""
    rig = Rig(asks=True)
    rig.lists(record("m", CONFIGURED), record("other", IDLE))
    rig.wait(1)
    rig.local(replace(rig.machine("m"), state=DRAINING))
    rig.local(replace(rig.machine("m"), state=IDLE, cluster="", assigned=Assigned()))
    rig.effects.taken()
    rig.sent.clear()
    return rig


def gets(rig: Rig) -> list[CallProvider]:
    asked = [each for each in rig.effects.taken() if isinstance(each, CallProvider)]
    assert all(isinstance(each.call, GetCall) for each in asked)
    return asked


def answer(rig: Rig, call: CallProvider, said: MachineRecord | Rejected) -> None:
    rig.calls.on_answer(CallAnswered(call, said, rig.now))


def lists_the_past(rig: Rig) -> CallProvider:
    rig.lists(record("m", CONFIGURED), record("other", IDLE))
    (get,) = gets(rig)
    assert get.call.machine_id == "m"
    assert rig.state("m") is IDLE
    return get


def test_what_the_get_does_not_confirm_is_not_believed() -> None:
    rig = freed()
    answer(rig, lists_the_past(rig), record("m", IDLE))
    assert rig.state("m") is IDLE
    assert rig.told() == []


def test_it_is_asked_about_again_while_lists_say_so_and_no_longer() -> None:
    rig = freed()
    answer(rig, lists_the_past(rig), record("m", IDLE))
    answer(rig, lists_the_past(rig), record("m", IDLE))
    rig.lists(record("m", IDLE), record("other", IDLE))
    assert gets(rig) == []


def test_what_the_get_confirms_is_believed_and_wakes_the_cycle() -> None:
    rig = freed()
    answer(rig, lists_the_past(rig), record("m", CONFIGURED))
    assert rig.state("m") is CONFIGURED
    assert rig.told() == [("shop", "m", CONFIGURED)]
    assert rig.is_awake()
    rig.lists(record("m", CONFIGURED), record("other", IDLE))
    assert gets(rig) == []


def test_the_get_counts_where_the_two_differ() -> None:
    rig = freed()
    answer(rig, lists_the_past(rig), record("m", DRAINING))
    assert rig.state("m") is DRAINING
    rig.lists(record("m", CONFIGURED), record("other", IDLE))
    assert [get.call.machine_id for get in gets(rig)] == ["m"]
    assert rig.state("m") is DRAINING


def test_prices_of_a_doubted_record_are_taken_over() -> None:
    rig = freed()
    rig.lists(record("m", CONFIGURED, price_per_hour=0.25), record("other", IDLE))
    assert (rig.state("m"), rig.machine("m").price_per_hour) == (IDLE, 0.25)


def test_a_line_that_fails_says_nothing() -> None:
    rig = freed()
    answer(rig, lists_the_past(rig), Rejected(Code.UNAVAILABLE, "no"))
    assert rig.state("m") is IDLE
    lists_the_past(rig)


def test_a_provider_without_an_answer_is_believed_with_its_next_list() -> None:
    rig = freed()
    answer(rig, lists_the_past(rig), Rejected(Code.UNIMPLEMENTED, "no Get here"))
    rig.lists(record("m", CONFIGURED), record("other", IDLE))
    assert rig.state("m") is CONFIGURED


def test_an_answer_after_the_next_action_began_changes_nothing() -> None:
    rig = freed()
    get = lists_the_past(rig)
    rig.pending.add("m")
    answer(rig, get, record("m", CONFIGURED))
    assert rig.state("m") is IDLE


def test_an_answer_about_a_machine_that_is_gone_changes_nothing() -> None:
    rig = freed()
    get = lists_the_past(rig)
    rig.lists(record("other", IDLE))
    rig.lists(record("other", IDLE))
    assert rig.ids() == ["other"]
    answer(rig, get, record("m", CONFIGURED))
    assert rig.ids() == ["other"]


def test_a_minute_later_the_list_is_believed_at_once() -> None:
    rig = freed()
    rig.wait(60)
    rig.lists(record("m", CONFIGURED), record("other", IDLE))
    assert (gets(rig), rig.state("m")) == ([], CONFIGURED)


def test_what_the_shard_has_not_done_is_believed_at_once() -> None:
    rig = freed()
    rig.lists(record("m", IDLE), record("other", CONFIGURED))
    assert (gets(rig), rig.state("other")) == ([], CONFIGURED)


def test_a_step_back_of_the_provider_is_one_get_away() -> None:
    rig = Rig(asks=True)
    rig.lists(record("m", SPECULATIVE))
    rig.wait(1)
    rig.local(replace(rig.machine("m"), state=CREATING))
    rig.effects.taken()
    rig.lists(record("m", SPECULATIVE))
    (get,) = gets(rig)
    answer(rig, get, record("m", SPECULATIVE))
    assert rig.state("m") is SPECULATIVE
