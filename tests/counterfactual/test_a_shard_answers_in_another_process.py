"""A live shard, its journal and a dump of it name the same changes; the search has its process."""

import json
from pathlib import Path
from typing import Any

import pytest

from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle, Recorder
from bigfleet.model.counterfactuals import CounterfactualCall
from bigfleet.model.needs import NeedKey
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard.driving.what_ifs import MOST_RUNNING, WhatIfs
from bigfleet.shard.what_if_worker import COUNTERFACTUAL, answered
from bigfleet.wire.counterfactuals import call_bytes, read_answer
from tests.cli.shard_commands.rig import living_shard, need, run
from tests.journal.lives import START, LivingFleet

#: Which cycle, which shard and when.
#: A forecast names the cycle it was made of, and is there only when it is made.
PROVENANCE = ("cycle", "shardId", "queriedAt", "unreachable", "wait")
PATIENT = ("--counterfactual", "--budget", "30s")


def without_where(document: dict[str, Any]) -> dict[str, Any]:
    """An overlay names when demand arrived: a dump tells it in another clock."""
    rest = {k: v for k, v in document.items() if k not in PROVENANCE}
    changes = [{k: v for k, v in c.items() if k != "overlay"} for c in document["changes"]]
    return {**rest, "changes": changes}


async def test_live_journal_and_fleet_file_name_the_same_changes(tmp_path: Path) -> None:
    file, wanted = tmp_path / "fleet.jsonl", need("shop", 2, kind="gpu-8")
    name = f"need/shop/{wanted.key.need_id}"
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 3), wanted):
        await shard.until_bound("shop", 3)
        live = await shard.document("why", f"need/shop/{wanted.key.need_id[:8]}", *PATIENT)
        at = ("--at", live["cycle"])
        await shard.shown("snapshot", "fleet", str(file))
        unknown = await shard.run("why", "need/shop/nffffffff", "--counterfactual")
        assert unknown.exit_code == 3
        assert "no need shop/nffffffff in this shard" in unknown.stderr
    kinds = [change["kinds"] for change in live["changes"]]
    assert ["requirement"] in kinds
    assert ["value"] in kinds
    assert live["exhaustive"] is True
    for source in (("--fleet", str(file)), ("--journal", str(tmp_path / "data" / "journal"), *at)):
        result = await run("why", name, *PATIENT, *source, "-o", "json")
        assert result.exit_code == 0, result.output
        assert without_where(json.loads(result.stdout)) == without_where(live), source


@pytest.fixture
def finished() -> FinishedCycle:
    return list(LivingFleet(14).cycles(5))[-1]


def asked(finished: FinishedCycle, call: CounterfactualCall) -> tuple[str, bytes]:
    records = Recorder("shard-0", 3, "0").record(finished)
    return answered({"question": COUNTERFACTUAL, "name": "3:5"}, [call_bytes(call), *records])


def test_a_worker_reads_a_past_cycle_from_the_journal(tmp_path: Path) -> None:
    cycles = list(LivingFleet(14).cycles(12))
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in cycles:
        file.record(cycle, START)
    file.close()
    past = cycles[4]
    call = CounterfactualCall(past.decision.outcome.key(0), past.given.cycle, 30_000)
    place = {"journal": str(tmp_path), "epoch": 3, "cycle": past.given.cycle}
    code, content = answered({"question": COUNTERFACTUAL, **place}, [call_bytes(call)])
    assert code == ""
    assert read_answer(content).cycle == f"3:{past.given.cycle}"
    unknown = {**place, "cycle": 99}
    assert (
        answered({"question": COUNTERFACTUAL, **unknown}, [call_bytes(call)])[0] == "OUT_OF_RANGE"
    )


def test_a_worker_tells_what_is_not_there_with_its_code(finished: FinishedCycle) -> None:
    code, text = asked(finished, CounterfactualCall(NeedKey("nowhere", "", ""), id_prefix="n"))
    assert code == "NOT_FOUND"
    assert b"no cluster nowhere" in text
    code, text = asked(finished, CounterfactualCall(NeedKey("", "", ""), id_prefix="n"))
    assert code == "INVALID_ARGUMENT"
    assert b"Needs begin with" in text


def test_a_worker_answers_about_every_need(finished: FinishedCycle) -> None:
    outcome = finished.decision.outcome
    assert len(outcome) > 1
    for row in range(len(outcome)):
        key = outcome.key(row)
        code, content = asked(finished, CounterfactualCall(key, budget_ms=30_000))
        assert code == ""
        told = read_answer(content)
        assert told.need == key
        assert told.met or not told.deficit.is_zero() or told.changes


async def test_searches_and_what_ifs_share_their_places(finished: FinishedCycle) -> None:
    full = WhatIfs("shard-0", 3, None)
    full._running = MOST_RUNNING
    with pytest.raises(Rejected) as rejected:
        await full.counterfactual(CounterfactualCall(NeedKey("shop", "", "")), finished)
    assert rejected.value.code is Code.RESOURCE_EXHAUSTED
    empty = WhatIfs("shard-0", 3, None)
    with pytest.raises(Rejected) as rejected:
        await empty.counterfactual(CounterfactualCall(NeedKey("shop", "", ""), 2), finished)
    assert rejected.value.code is Code.OUT_OF_RANGE
