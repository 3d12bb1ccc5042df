"""`machines story ID --journal DIR`: what touched a machine, up to a cycle or a time."""

import json

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from tests.questions.recorded_night import NIGHT

PREEMPTED = "2026-03-14T03:00:10Z"


def story(
    machine: str, *arguments: str, journal: tuple[str, ...] = ("--journal", str(NIGHT))
) -> Result:
    words = ["machines", "story", machine, *journal, *arguments]
    return CliRunner(env={"COLUMNS": "250"}).invoke(cli, words)


def test_it_tells_the_state_of_the_last_cycle_and_every_event_oldest_first() -> None:
    result = story("arm-a-1")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("machine/arm-a-1 is Configured for cluster batch, for 7m")
    assert lines[1] == "as of cycle 1:384, 2026-03-14T03:12:00Z"
    assert lines[3].split() == ["TIME", "CYCLE", "SOURCE", "STATE", "CLUSTER", "SHARD", "WHAT"]
    assert "first listed by cloud, Speculative" in lines[4]
    assert "Configuring -> Configured" in lines[-1]


def test_it_ends_with_the_cycle_that_is_asked_about() -> None:
    document = json.loads(story("bm-01", "--at", "2026-03-14T03:00:15Z", "-o", "json").stdout)
    assert document["cycle"] == "1:243"
    assert document["machine"]["machine"]["state"] == "MACHINE_STATE_DRAINING"
    assert document["shards"] == ["shard-0"]
    later = json.loads(story("bm-01", "-o", "json").stdout)
    assert len(later["events"]) > len(document["events"])
    assert later["events"][: len(document["events"])] == document["events"]


def test_the_newest_are_left_by_a_limit_and_it_says_that_there_are_more() -> None:
    whole = json.loads(story("bm-01", "-o", "json").stdout)
    part = json.loads(story("bm-01", "--limit", "2", "-o", "json").stdout)
    assert part["events"] == whole["events"][-2:]
    assert (part["truncated"], whole["truncated"]) == (True, False)


def test_an_unknown_machine_is_told_with_names_like_it() -> None:
    result = story("bm-99")
    assert result.exit_code == 3
    assert "no machine bm-99 in the journal; nearest are bm-0" in result.stderr


def test_what_has_no_stories_is_refused() -> None:
    fleet = story("bm-01", journal=("--fleet", "fleet.yaml"))
    assert fleet.exit_code == 2
    assert "a fleet file has no stories" in fleet.stderr
    live = story("bm-01", "--at", "7", journal=())
    assert live.exit_code == 2
    assert "a live shard tells the whole story; add --journal DIR" in live.stderr
