"""Wrong Lists: only the answer is wrong, for as long as was asked, and the log says so."""

import math

import pytest

from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import Code, MachineRecord
from bigfleet.provider.sim.service import altered
from bigfleet.provider.sim.world.answers import BAD_FIELDS, AnswerFaults, WrongList
from bigfleet.provider.sim.world.distributions import Draws, distribution_of
from tests.sim.rig import running

OD = "sim--on-demand--std-2--sim-1a--000"
RECORDS = tuple(
    MachineRecord(
        f"m-{n}",
        MachineState.SPECULATIVE,
        instance_type="std-2",
        zone="z",
        capacity_type=CapacityType.SPOT,
    )
    for n in range(10)
)


async def test_an_empty_list_is_answered_as_often_as_asked_and_the_machines_stay() -> None:
    async with running() as rig:
        await rig.do("list-empty", "2")
        assert [len(await rig.machines()) for _ in range(3)] == [0, 0, 136]
        assert await rig.state(OD) is MachineState.SPECULATIVE
        await rig.wait(1)
        marked = [event["how"] for event in await rig.events() if event["event"] == "list.wrong"]
        assert marked == ["empty", "empty"]


async def test_a_truncated_list_shows_a_fraction() -> None:
    async with running() as rig:
        await rig.do("list-truncate", "0.25")
        assert [len(await rig.machines()) for _ in range(2)] == [34, 136]


async def test_a_list_names_a_machine_twice() -> None:
    async with running() as rig:
        await rig.do("list-duplicate")
        ids = [record.id for record in await rig.machines()]
        assert (len(ids), len(set(ids))) == (137, 136)


async def test_a_stale_list_stands_still_for_its_time() -> None:
    async with running() as rig:
        await rig.do("list-stale", "10m")
        await rig.machines()
        await rig.create(OD)
        await rig.wait(300)
        shown = {record.id: record.state for record in await rig.machines()}
        assert shown[OD] is MachineState.SPECULATIVE
        assert await rig.state(OD) is MachineState.IDLE
        await rig.wait(300)
        shown = {record.id: record.state for record in await rig.machines()}
        assert shown[OD] is MachineState.IDLE


async def test_a_bad_record_crosses_the_wire_as_it_is() -> None:
    async with running() as rig:
        await rig.do("list-bad-record", "price_per_hour")
        assert sum(math.isnan(record.price_per_hour) for record in await rig.machines()) == 1
        assert not any(math.isnan(record.price_per_hour) for record in await rig.machines())


@pytest.mark.parametrize("field", BAD_FIELDS)
def test_a_bad_record_has_one_bad_field_and_the_others_are_untouched(field: str) -> None:
    found = altered(RECORDS, WrongList("bad-record", field=field))
    assert found[1:] == RECORDS[1:]
    assert found[0] != RECORDS[0]


def test_wrong_lists_wait_for_one_another() -> None:
    answers = AnswerFaults(wrong=[WrongList("empty", 1), WrongList("duplicate", 2)])
    found = [answers.next_wrong_list(0) for _ in range(4)]
    assert [wrong and wrong.how for wrong in found] == ["empty", "duplicate", "duplicate", None]


def test_errors_hit_their_method_about_as_often_as_their_chance() -> None:
    answers = AnswerFaults(errors={"List": (Code.INTERNAL, 0.25)})
    codes = [answers.treatment("List", Draws(1)).code for _ in range(400)]
    assert codes.count(Code.INTERNAL) == pytest.approx(100, abs=25)
    assert answers.treatment("Get", Draws(1)).code is None


def test_a_slow_call_is_delayed_and_still_answered() -> None:
    answers = AnswerFaults(delay=distribution_of("fixed:2s"))
    treatment = answers.treatment("Get", Draws(1))
    assert (treatment.delay_nanos, treatment.code) == (2 * 10**9, None)
