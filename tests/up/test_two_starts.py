"""Starting twice: side by side on other ports, or one after the other on the same folder."""

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.model.errors import StartRefused
from bigfleet.model.machines import MachineState
from bigfleet.sim.script import Change
from bigfleet.up.folders import claim
from bigfleet.up.plans import FleetPlan
from bigfleet.up.ports import free_from
from tests.up.fleets import FAST, is_served, running, seen

SMALL = FleetPlan()


def test_a_busy_port_is_replaced_by_the_next_free_one() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        assert free_from(port) > port


async def test_two_fleets_stand_side_by_side() -> None:
    # Two of them in one process: at half the pace each gets as much of it as one alone.
    wanted = replace(
        FAST,
        speed=FAST.speed / 2,
        shard_port=free_from(27780),
        coordinator_port=free_from(27790),
    )
    async with running(wanted) as first, running(wanted) as second:
        assert not set(first.addresses.values()) & set(second.addresses.values())
        await asyncio.gather(seen(first, is_served), seen(second, is_served))


async def test_a_second_start_on_the_same_folder_goes_on(tmp_path: Path) -> None:
    plan = replace(FAST, data_dir=tmp_path)
    async with running(plan) as first:
        await seen(first, is_served)
        place = first.clusters.seconds
    # Until the very end machines come and go with the script.
    machines = first.shards["shard-0"].state.parts.machines
    bound = sum(machines.truth(name).state is MachineState.CONFIGURED for name in machines.ids())
    assert bound > 0
    told: list[Change] = []
    async with running(plan, told.append) as second:
        assert second.shards["shard-0"].state.epoch == 2
        assert second.clusters.seconds >= place
        # On any port, the provider is somewhere else now.
        assert second.machines == plan.machines
        again = await seen(second, lambda report: report.cycle > 0)
        assert again.machines[MachineState.CONFIGURED] >= bound
        await seen(second, is_served)
    assert told[0].at_seconds == 0.0


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"seed": 2}, "--seed 1"),
        ({"machines": 25_000}, "--size small"),
        ({"shards": 3}, "--shards 1"),
    ],
    ids=["another seed", "another size", "more shards"],
)
async def test_another_fleet_does_not_move_into_the_folder(
    tmp_path: Path, other: dict[str, int], named: str
) -> None:
    claim(tmp_path, SMALL)
    claim(tmp_path, SMALL)
    with pytest.raises(StartRefused, match=named):
        claim(tmp_path, replace(SMALL, **other))  # type: ignore[arg-type]


def test_the_folder_of_a_fleet_that_knew_one_shard_only_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "shard").mkdir()
    (tmp_path / "fleet.json").write_text('{"machines": 1200, "seed": 1}')
    claim(tmp_path, SMALL)
    assert (tmp_path / "shard-0").is_dir()
    assert not (tmp_path / "shard").exists()
