"""The same what-if of a live shard, its journal and a dump of it: the same answer."""

import json
from pathlib import Path
from typing import Any

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


async def test_live_journal_and_fleet_file_answer_alike(tmp_path: Path) -> None:
    file, live = tmp_path / "fleet.jsonl", dict[tuple[str, ...], Any]()
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 3)):
        await shard.until_bound("shop", 3)
        for question in QUESTIONS:
            live[question] = await shard.document(*question)
        await shard.shown("snapshot", "fleet", str(file))
        past = await shard.run(*QUESTIONS[2], "--at", "1")
        assert past.exit_code == 2
        assert "add --journal DIR" in past.stderr
    for question, told in live.items():
        journal = ("--journal", str(tmp_path / "data" / "journal"), "--at", told["cycle"])
        recorded = await run(*question, *journal, "-o", "json")
        assert recorded.exit_code == 0, recorded.output
        answer = json.loads(recorded.stdout)
        assert answer["cycle"] == told["cycle"]
        assert without_where(answer) == without_where(told), question
        dumped = json.loads((await run(*question, "--fleet", str(file), "-o", "json")).stdout)
        assert without_where(dumped) == without_where(told), question
