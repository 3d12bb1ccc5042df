"""Control verbs: how they are written, what they refuse, and what a selector selects."""

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.provider.sim.world.commands import CARRIED
from bigfleet.provider.sim.world.events import RunOutside, Step
from bigfleet.provider.sim.world.report import condition_holds
from bigfleet.provider.sim.world.verbs import (
    VERBS,
    BadCommand,
    BadSelector,
    command_of_mapping,
    command_of_words,
    script_of,
    selector_of,
)
from tests.sim.handles import SimHandle, hand


def chosen(sim: SimHandle, text: str) -> list[str]:
    return [s.id for s in selector_of(text).slots(sim.substrate.supply, sim.substrate.state_of)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("od-0001", ["od-0001"]),
        ("capacity=BareMetal", ["bm-0000", "bm-0001"]),
        ("type=std-2 capacity=on_demand", ["od-0000", "od-0001", "od-0002", "od-0003"]),
        ("state=configured", ["bm-0000"]),
        ("cluster=shop,zone=sim-1a", ["bm-0000"]),
        ("std-8/sim-1a/bare-metal", ["bm-0000", "bm-0001"]),
        ("zone=elsewhere", []),
    ],
)
def test_a_selector_chooses_by_id_pool_or_terms(text: str, expected: list[str]) -> None:
    sim = hand()
    sim.done(Step.CONFIGURE, "bm-0000", "shop")
    assert chosen(sim, text) == expected


@pytest.mark.parametrize("text", ["colour=red", "zone=", "capacity=borrowed", "od-1 od-2"])
def test_what_is_not_a_selector_is_refused(text: str) -> None:
    with pytest.raises(BadSelector):
        selector_of(text)


def test_a_pool_has_no_state() -> None:
    assert "no state" in hand().problem("stock", "state=idle", "3")


def test_words_and_names_make_the_same_command() -> None:
    by_words = command_of_words(["interrupt", "capacity=spot zone=b", "0.3", "60s"])
    by_names = command_of_mapping(
        "interrupt", {"select": "capacity=spot zone=b", "fraction": 0.3, "notice": "60s"}
    )
    assert by_words == by_names


def test_the_last_argument_may_take_the_rest() -> None:
    assert command_of_words(["vanish", "a", "b"]).words("ids") == ("a", "b")
    assert command_of_words(["outage", "on", "List", "Get"]).words("methods") == ("List", "Get")


def test_time_has_short_verbs() -> None:
    assert command_of_words(["advance", "5m"]) == command_of_words(["clock", "advance", "5m"])
    assert command_of_words(["step-until", "state=idle", ">=", "2"]).text("value") == (
        "state=idle >= 2"
    )


@pytest.mark.parametrize(
    "words",
    [[], ["explode"], ["price"], ["price", "pool"], ["walk", "on", "twice"], ["vanish"]],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_a_verb_that_is_not_understood_says_how_it_is_written(words: list[str]) -> None:
    with pytest.raises(BadCommand):
        command_of_words(words)


@pytest.mark.parametrize(
    "line",
    [
        "price nowhere 1",
        "price capacity=spot cheap",
        "probability capacity=spot 0",
        "probability capacity=spot 1.5",
        "stock capacity=spot some",
        "quota nowhere 3",
        "walk maybe",
        "latency sleep 0",
        "latency create soon",
        "failure-rate sleep 0.1",
        "fail nobody",
        "fail od-0000",
        "fail-next od-0000 sleep",
        "fail-next od-0000 create sadness",
        "fail-next od-0000 create error 0",
        "outage on Sleep",
        "rpc-error List SAD",
        "list-truncate 2",
        "list-bad-record shoe",
        "hold sleep",
        "interrupt capacity=spot 2",
        "add {",
        "add {}",
        "state nobody",
    ],
)
def test_a_verb_is_refused_whole_with_a_sentence(line: str) -> None:
    sim = hand()
    before = sim.do("state")
    verb, *words = line.split(" ")
    assert sim.problem(verb, *words)
    assert sim.do("state") == before


def test_every_verb_about_the_world_is_carried_out_by_it() -> None:
    assert set(CARRIED) == {name for name, verb in VERBS.items() if not verb.outside}


def test_what_happened_by_control_is_marked_in_the_log() -> None:
    sim = hand()
    sim.do("hold", "create")
    sim.problem("price", "nowhere", "1")
    assert [note.event for note in sim.log] == ["control.hold", "control.refused"]


def test_a_script_does_its_verbs_at_their_times() -> None:
    sim = hand()
    sim.script(
        {"at": "10s", "do": "hold", "kind": "create"},
        {"at": "20s", "do": "release"},
        {"at": "30s", "do": "store-fail", "switch": True},
    )
    sim.wait("15s")
    assert sim.substrate.faults.holds
    sim.wait("5s")
    assert not sim.substrate.faults.holds
    said = sim.wait("10s")
    assert [i.command.verb for i in said if isinstance(i, RunOutside)] == ["store-fail"]
    assert not sim.substrate.script


def test_all_problems_of_a_script_are_told_together() -> None:
    with pytest.raises(BadInput) as refused:
        script_of([{"do": "explode"}, {"at": "soon", "do": "state"}, "hold"])
    assert [problem.path for problem in refused.value.problems] == ["[0]", "[1]", "[2]"]


def test_the_events_of_a_scenario_are_a_script() -> None:
    entries = {"events": [{"at": "1m", "do": "stock", "select": "zone=a", "value": 0}]}
    [(delay, command)] = script_of(entries)
    assert (delay, command.verb, command.text("value")) == (60 * 10**9, "stock", "0")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [("quiet", True), ("state=idle >= 2", True), ("state=idle > 2", False), (" == 10", True)],
)
def test_a_condition_counts_machines(condition: str, holds: bool) -> None:
    assert condition_holds(hand().substrate, condition) is holds


def test_a_malformed_condition_is_refused() -> None:
    with pytest.raises(BadCommand):
        condition_holds(hand().substrate, "when pigs fly")
