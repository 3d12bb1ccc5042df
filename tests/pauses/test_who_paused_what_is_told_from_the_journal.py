"""Who paused what, why, until when? Answered from a journal, at its end and at any cycle."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import Note
from bigfleet.model.actions import ActionKind
from bigfleet.model.journal import JournalEvent
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import EXPIRED, Pause, PauseScope, PauseSource, lifted_text
from tests.journal.lives import START, LivingFleet

SHOP = Pause(
    "p-shop",
    PauseSource.RPC,
    PauseScope(cluster_ids=("shop",), kinds=(ActionKind.RECLAIM,)),
    "ada",
    "strange reclaims \x1b[31m",
    START,
    START + 4 * 3600 * SECOND,
)
ALL = Pause("p-all", PauseSource.FILE, PauseScope(), "bob", "release day", START)
LIFTED = replace(SHOP, ended_at=START + 6 * SECOND, ended=lifted_text("cyd", "it was the deploy"))
OVER = replace(ALL, ended_at=START + 9 * SECOND, ended=EXPIRED)
#: What is in force from which cycle on.
CHANGES = {2: (SHOP,), 4: (SHOP, ALL), 6: (ALL,)}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last pause expires after the last cycle."""
    directory = tmp_path_factory.mktemp("journal")
    file = JournalFile(directory, "shard-0", 3, "0.3.0", JournalLimits(segment_bytes=2500))
    file.prepare()
    in_force: tuple[Pause, ...] = ()
    told = {2: ("pause_set", SHOP), 4: ("pause_set", ALL), 6: ("pause_lifted", LIFTED)}
    for cycle in LivingFleet(11).cycles(8):
        number = cycle.given.cycle
        in_force = CHANGES.get(number, in_force)
        file.record(replace(cycle, pauses=in_force), START)
        if number in told:
            kind, pause = told[number]
            event = JournalEvent(kind, pause.pause_id, kind, pause=pause)
            file.note([Note(number, cycle.given.at, event)])
    expired = JournalEvent("pause_expired", ALL.pause_id, "expired", pause=OVER)
    file.note([Note(8, START + 9 * SECOND, expired)])
    file.close()
    return directory


def listed(journal: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["pause", "list", "--journal", str(journal), *words])


def items(answer: Result) -> list[dict[str, Any]]:
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.stdout)
    assert document["shardId"] == "shard-0"
    found: list[dict[str, Any]] = document["items"]
    return found


@pytest.mark.parametrize(
    ("cycle", "names"),
    [(1, []), (2, ["p-shop"]), (3, ["p-shop"]), (5, ["p-shop", "p-all"]), (7, ["p-all"])],
)
def test_what_was_in_force_at_a_cycle(journal: Path, cycle: int, names: list[str]) -> None:
    answer = listed(journal, "--at", str(cycle), "-o", "json")
    assert [each["pauseId"] for each in items(answer)] == names
    assert json.loads(answer.stdout)["cycle"] == f"3:{cycle}"


def test_at_the_end_nothing_is_in_force_and_who_lifted_what_is_told(journal: Path) -> None:
    assert items(listed(journal, "-o", "json")) == []
    found = items(listed(journal, "--expired", "-o", "json"))
    assert [each["pauseId"] for each in found] == ["p-shop", "p-all"]
    assert found[0]["ended"] == "lifted by cyd: it was the deploy"
    assert found[0]["audit"] == {"owner": "ada", "reason": "strange reclaims \x1b[31m"}
    assert found[1]["ended"] == "expired"
    page = listed(journal, "--expired").stdout
    assert "Reclaim of cluster shop" in page
    assert "lifted by cyd: it was the deploy" in page
    assert "until 2026-01-01T04:00:00Z" in page
    assert "\x1b[31m" not in page


def test_a_pause_set_before_the_oldest_segment_is_still_told(journal: Path, tmp_path: Path) -> None:
    last = sorted(journal.iterdir())[-1]
    kept = tmp_path / last.name
    kept.write_bytes(last.read_bytes())
    assert [each["pauseId"] for each in items(listed(kept, "--at", "8", "-o", "json"))] == ["p-all"]


def test_what_cannot_be_told_is_refused_in_words(journal: Path) -> None:
    gone = listed(journal, "--at", "99")
    assert gone.exit_code == 3
    assert "no cycle 3:99 is recorded" in gone.stderr
    for words, why in (
        (["--at", "7"], "add --journal DIR"),
        (["--fleet", "fleet.yaml"], "knows no pauses"),
    ):
        refused = CliRunner().invoke(cli, ["pause", "list", *words])
        assert refused.exit_code == 2
        assert why in refused.stderr
