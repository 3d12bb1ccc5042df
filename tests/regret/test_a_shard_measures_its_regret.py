"""A shard measures in a process beside it: what it tells, what its metrics show, and why not."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.regret import (
    HOW_TO_ENABLE,
    Regret,
    RegretStatus,
    regret_of_fleet,
    skipped,
)
from bigfleet.model.settings import Seconds
from bigfleet.shard.driving.regret_meter import RegretMeter
from bigfleet.shard.driving.what_ifs import WhatIfs
from tests.cli.shard_commands.rig import SETTINGS, LiveShard, living_shard, need
from tests.wire.regret_answer import MEASURED

DOLLARS, RATIO = "regret_dollars_per_hour", "regret_ratio"


class Scripted(WhatIfs):
    """Measures nothing, and says what it is told to."""

    def __init__(self, answer: Regret | Rejected) -> None:
        super().__init__("shard-0", 1, None)
        self.answer_with = answer

    async def regret(self, _finished: FinishedCycle) -> Regret:
        if isinstance(self.answer_with, Rejected):
            raise self.answer_with
        return self.answer_with


def meter_of(shard: LiveShard, answer: Regret | Rejected) -> RegretMeter:
    process = shard.process
    return RegretMeter(process.state, process._outlet, Scripted(answer))


async def test_a_shard_measures_its_last_cycle_in_a_process_that_ends(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 3)):
        await shard.until_bound("shop", 3)
        await shard.process.regret.measure()
        (row,) = (await shard.document("reports", "regret"))["items"]
    assert (row["status"], row["shardId"], row["reason"]) == (
        "REGRET_STATUS_OPTIMAL",
        "shard-0",
        "",
    )
    assert 0 <= row["boundPerHour"] <= row["greedyPerHour"]
    assert (row["cycle"] > 0, row["needGroups"]) == (True, 1)
    assert shard.process._what_ifs._idle == []


async def test_before_the_first_measurement_a_shard_says_when_it_comes(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        answer = await shard.run("reports", "regret")
        said = await shard.run("reports", "regret", "-o", "json")
    assert (answer.exit_code, said.exit_code) == (5, 5)
    assert "the first measurement comes 15 s after the start of the shard" in answer.stderr
    assert "unknown" in answer.stdout


async def test_without_the_solver_a_shard_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    async with living_shard(tmp_path) as shard:
        answer = await shard.run("reports", "regret")
    assert answer.exit_code == 5
    assert HOW_TO_ENABLE in answer.stderr


async def test_a_meter_that_is_turned_off_says_so(tmp_path: Path) -> None:
    settings = replace(SETTINGS, regret_interval=Seconds(0.0))
    async with living_shard(tmp_path, settings) as shard:
        answer = await shard.run("reports", "regret")
    assert "turned off: regret-interval is 0" in answer.stderr


async def test_the_gauges_show_the_last_measurement_and_nothing_where_it_failed(
    tmp_path: Path,
) -> None:
    async with living_shard(tmp_path) as shard:
        counts = shard.process.state.effects.counts
        await meter_of(shard, MEASURED).measure()
        assert (counts.of(DOLLARS), counts.of(RATIO)) == (0.5, 0.25)
        failing = meter_of(shard, Rejected(Code.UNAVAILABLE, "the process has ended"))
        await failing.measure()
        assert failing.latest().reason == "the process has ended"
        assert {DOLLARS, RATIO}.isdisjoint({name for name, _ in counts.gauges})


async def test_a_meter_measures_again_and_again(tmp_path: Path) -> None:
    settings = replace(SETTINGS, regret_interval=Seconds(0.01))
    async with living_shard(tmp_path, settings) as shard:
        meter = meter_of(shard, MEASURED)
        running = asyncio.create_task(meter.run())
        await shard.until(lambda: meter.latest() == MEASURED)
        meter._what_ifs = Scripted(skipped("the second one"))
        await shard.until(lambda: meter.latest().reason == "the second one")
        running.cancel()


async def test_a_meter_that_is_turned_off_while_it_runs_shows_nothing_more(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        state, meter = shard.process.state, meter_of(shard, MEASURED)

        def every(seconds: float) -> None:
            state.apply_settings(replace(state.settings, regret_interval=Seconds(seconds)))

        def is_shown() -> bool:
            return RATIO in {name for name, _ in state.effects.counts.gauges}

        every(0.01)
        running = asyncio.create_task(meter.run())
        await shard.until(is_shown)
        every(0.0)
        await shard.until(lambda: not is_shown())
        assert "turned off" in meter.latest().reason
        running.cancel()


def test_shards_are_added_up_where_all_are_measured() -> None:
    one = Regret(RegretStatus.OPTIMAL, greedy_per_hour=8.0, bound_per_hour=7.0)
    both = regret_of_fleet({"a": one, "b": MEASURED})
    assert (both.status, both.reason) == (RegretStatus.BOUND_ONLY, "b: time ran out")
    assert (both.gap_per_hour, both.ratio) == (1.5, 0.15)


@pytest.mark.parametrize(
    ("shards", "silent", "reason"),
    [
        ({"a": MEASURED, "b": skipped("too varied")}, (), "too varied"),
        ({"a": MEASURED}, ("b",), "b does not answer"),
        ({"a": None}, (), "a is of a version that measures none"),
    ],
    ids=["one is skipped", "one is silent", "an older one"],
)
def test_a_fleet_with_a_shard_that_measures_nothing_is_unknown_with_the_reason(
    shards: dict[str, Regret | None], silent: tuple[str, ...], reason: str
) -> None:
    assert regret_of_fleet(shards, silent) == skipped(reason)


def test_a_live_shard_is_not_asked_for_the_past() -> None:
    answer = CliRunner().invoke(cli, ["reports", "regret", "--at", "3"])
    assert answer.exit_code == 2
    assert "--at: a live shard tells its last measurement" in answer.stderr
