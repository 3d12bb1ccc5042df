"""The same what-if of a live shard, its journal and a dump of it: the same answer."""

import json
from pathlib import Path
from typing import Any

from bigfleet.journal.history import cycle_at
from bigfleet.journal.segments import Segment, segments_of
from tests.cli.shard_commands.rig import living_shard, need, run

MORE = ("--demand", "cluster=shop x2")
#: Of every step: what is left out is measured where there is a journal, and assumed of a file.
LATENCIES = ("create=40s", "configure=30s", "drain=10s", "delete=5s")
GIVEN = tuple(word for each in LATENCIES for word in ("--latency", each))
QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("whatif", *MORE),
    ("whatif", *MORE, "--settle", *GIVEN),
    ("whatif", *MORE, "--sweep", "price.OnDemand=1:3:1"),
)


def without_where(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in ("cycle", "unreachable")}


def journal_of(folder: Path) -> list[Segment]:
    return segments_of(folder / "data" / "journal")


def numbers(cycle: str) -> tuple[int, int]:
    epoch, _, number = cycle.partition(":")
    return int(epoch), int(number)


async def test_live_journal_and_fleet_file_answer_alike(tmp_path: Path) -> None:
    file, live = tmp_path / "fleet.jsonl", dict[tuple[str, ...], Any]()
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 3)):
        await shard.until_bound("shop", 3)
        for question in QUESTIONS:
            live[question] = await shard.document(*question)
        await shard.shown("snapshot", "fleet", str(file))
        kept = str(live[QUESTIONS[2]]["cycle"])
        await shard.until(lambda: cycle_at(journal_of(tmp_path), numbers(kept)) is not None)
        past = await shard.document(*QUESTIONS[2], "--at", kept)
        assert past["cycle"] == kept
        assert without_where(past) == without_where(live[QUESTIONS[2]])
    for question, told in live.items():
        journal = ("--journal", str(tmp_path / "data" / "journal"), "--at", told["cycle"])
        recorded = await run(*question, *journal, "-o", "json")
        assert recorded.exit_code == 0, recorded.output
        answer = json.loads(recorded.stdout)
        assert answer["cycle"] == told["cycle"]
        assert without_where(answer) == without_where(told), question
        dumped = json.loads((await run(*question, "--fleet", str(file), "-o", "json")).stdout)
        assert without_where(dumped) == without_where(told), question
