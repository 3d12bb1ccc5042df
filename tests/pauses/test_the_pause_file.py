"""A file stops what it says while it lies there; one that makes no sense stops everything."""

import pytest

from bigfleet.model.actions import ActionKind as K
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import PauseScope
from tests.pauses.switches import HOUR, START, logged, shard, switch

NARROW = """
- scope: {cluster_ids: [shop], kinds: [reclaim, Preempt]}
  owner: jane
  reason: the shop is on sale
  expires: 2h
- scope: {kinds: delete}
"""


@pytest.mark.parametrize("text", ["", "  \n\n"], ids=["empty", "blank"])
def test_a_file_without_words_stops_everything_while_it_lies_there(text: str) -> None:
    pauses = switch()
    pauses.on_file(text, START)
    pauses.tick(START + 1000 * HOUR)
    assert all(pauses.why_suppressed(kind, "shop") for kind in K)
    pauses.on_file(None, START + 1001 * HOUR)
    assert pauses.active() == ()


def test_a_list_says_scope_owner_reason_and_expiry() -> None:
    pauses = switch()
    pauses.on_file(NARROW, START)
    first, second = pauses.active()
    assert first.scope == PauseScope((), ("shop",), (K.RECLAIM, K.PREEMPT))
    assert (first.owner, first.reason) == ("jane", "the shop is on sale")
    assert first.expires_at == START + 2 * HOUR
    assert (second.scope, second.expires_at) == (PauseScope(kinds=(K.DELETE,)), START + 4 * HOUR)


@pytest.mark.parametrize(
    ("expires", "until"),
    [
        ("90m", START + 5400 * SECOND),
        ("60", START + 60 * SECOND),
        ('"2023-11-14T23:00:00Z"', 1_700_002_800 * SECOND),
        ("2023-11-14T23:00:00Z", 1_700_002_800 * SECOND),
        ("never", None),
        ("1000h", START + 168 * HOUR),
    ],
)
def test_an_expiry_is_a_length_a_time_or_never(expires: str, until: Instant | None) -> None:
    pauses = switch()
    pauses.on_file(f"- {{owner: jane, reason: r, expires: {expires}}}", START)
    assert [pause.expires_at for pause in pauses.active()] == [until]


def test_an_expiry_beyond_the_longest_is_cut_and_told() -> None:
    parts = shard()
    parts.pauses.on_file("- {owner: jane, reason: r, expires: 1000h}", START)
    said = ("pause_file", "entry 1: expires: cut to 168 h; write never for more")
    assert said in logged(parts.effects)


def test_the_time_of_a_file_runs_from_when_it_was_written() -> None:
    pauses = switch()
    pauses.on_file("- {owner: jane, reason: r, expires: 2h}", START, written=START - HOUR)
    assert [pause.expires_at for pause in pauses.active()] == [START + HOUR]
    pauses.tick(START + HOUR)
    pauses.on_file("- {owner: jane, reason: r, expires: 2h}", START + HOUR, written=START - HOUR)
    assert pauses.active() == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[", "it is not YAML"),
        ("everything", "the file must be a list"),
        ("- everything", "entry 1 must be a mapping of scope, owner, reason, expires"),
        ("- {scop: {}}", "entry 1 has no key 'scop'"),
        ("- {scope: {clusters: [shop]}}", "entry 1: scope has no key 'clusters'"),
        ("- {scope: {cluster_ids: []}}", "entry 1: scope: cluster_ids must be a list of words"),
        ("- {scope: {cluster_ids: [1]}}", "entry 1: scope: cluster_ids must be a list of words"),
        ("- {scope: {kinds: [evict]}}", "entry 1: scope: no kind 'evict'"),
        ("- {scope: {rebalance_only: 1}}", "rebalance_only is true or false"),
        ("- {owner: 7}", "entry 1: owner must be text"),
        ("- {expires: soon}", "entry 1: expires: 'soon' is not a time"),
    ],
)
def test_a_file_that_makes_no_sense_stops_everything_and_says_why(
    text: str, complaint: str
) -> None:
    parts = shard()
    effects, pauses = parts.effects, parts.pauses
    pauses.on_file(text, START)
    (pause,) = pauses.active()
    assert pause.scope.everything
    assert complaint in pause.reason
    assert any(event == "pause_file" and complaint in said for event, said in logged(effects))
    assert effects.counts.of("actuation_paused") == 1


def test_a_file_that_did_not_change_is_not_told_again() -> None:
    parts = shard()
    effects, pauses = parts.effects, parts.pauses
    pauses.on_file(NARROW, START)
    effects.taken()
    pauses.on_file(NARROW, START + SECOND)
    assert effects.taken() == []


def test_a_file_that_changes_lifts_and_sets_only_what_differs() -> None:
    parts = shard()
    effects, pauses = parts.effects, parts.pauses
    pauses.on_file("- {owner: jane, reason: r, expires: never}", START)
    effects.taken()
    pauses.on_file("- {owner: joe, reason: r, expires: never}", START + SECOND)
    assert [event for event, _ in logged(effects)] == ["pause_lifted", "pause_set"]
    assert [pause.owner for pause in pauses.active()] == ["joe"]
