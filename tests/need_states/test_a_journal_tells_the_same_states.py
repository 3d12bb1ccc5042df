"""A Need read from a journal is in the state the live shard had it in; it is never called met, for
the reports of Nodes and pods are not recorded."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.need_trace import explain_need
from bigfleet.journal import recorded_holds
from bigfleet.journal.history import FoundCycle, History
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorded_holds import judged_from_journal, recorded_states
from bigfleet.journal.segments import Segment, records_in_order, segments_of
from bigfleet.model.explanations import NeedExplanation
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import MARGIN_GROUP, NeedKey
from bigfleet.model.provider_calls import Mutation
from bigfleet.shard import need_judge
from bigfleet.shard.events import SessionClosed
from bigfleet.shard.ledgers.needs import NeedsLedger
from bigfleet.shard.rails.pauses import PauseRequest
from tests.questions.recorded_night import RecordedShard, live_through, report, settlement, web

#: Of the cycles in which no state changes.
EVERY = 16
Told = tuple[NeedState, str]


class WatchedShard(RecordedShard):
    """Remembers what it told of its Needs, cycle by cycle."""

    def __init__(self, directory: Path) -> None:
        self.told: dict[int, dict[NeedKey, Told]] = {}
        #: What the provider begins from here on it does not end.
        self.is_stuck = False
        self._journal = JournalFile(directory, "shard-0", 1, "0.3.0", JournalLimits())
        self._journal.prepare()
        super().__init__(self._journal)

    def run(self, cycles: int) -> None:
        super().run(cycles)
        listing = self.state.decision_loop.ledger.listing()
        self.told[listing.cycle] = {
            row.view.need.key: (row.state, row.reason.code)
            for row in listing.rows
            if row.state is not None
        }

    def close(self) -> None:
        self._journal.close()

    def _begin(self, call: Mutation) -> None:
        super()._begin(call)
        if self.is_stuck:
            del self._due[call.machine_id]

    def leave(self, cluster: str) -> None:
        """Its operator's stream ends."""
        closed = SessionClosed(self._session_of.pop(cluster), self.at)
        self._obey(self.state.handle(closed))


def changed(told: Mapping[int, dict[NeedKey, Told]]) -> set[int]:
    """Cycles in which some state, or its reason, is another than before; and some others."""
    before: dict[NeedKey, Told] = {}
    found: set[int] = set()
    for cycle, rows in told.items():
        if rows != before or cycle % EVERY == 0:
            found.add(cycle)
        before = rows
    return found


def decided_again(
    segments: list[Segment], cycles: set[int]
) -> Iterator[tuple[DecidedCycle, FoundCycle]]:
    history = History()
    for recorded in history.cycles(records_in_order(segments)):
        given = recorded.given
        if given.cycle in cycles:
            actions = () if recorded.output is None else recorded.output.actions
            decided = DecidedCycle(given, given.decide(), "", actions)
            yield decided, FoundCycle(recorded, history.header)


def read(directory: Path, cycles: set[int]) -> Iterator[tuple[int, NeedKey, NeedExplanation]]:
    segments = segments_of(directory)
    for decided, of in decided_again(segments, cycles):
        for row in range(len(decided.outcome)):
            told = explain_need(decided, row, 1)
            judged = judged_from_journal(told, decided, row, segments, of)
            yield decided.given.cycle, decided.outcome.key(row), judged


def assert_alike(shard: WatchedShard, directory: Path) -> set[Told]:
    """What the journal said of Needs that are not met."""
    shard.close()
    said: set[Told] = set()
    for cycle, key, judged in read(directory, changed(shard.told)):
        state, code = shard.told[cycle][key]
        where = f"cycle {cycle}, {key.cluster}: live {state.label}, {code}"
        assert judged.state is not NeedState.MET, where
        if state is NeedState.MET:
            assert judged.state is None, where
            assert judged.notes[-1].endswith("its pods run is not in a journal"), where
            continue
        assert judged.state is state, where
        if state is NeedState.BLOCKED:
            assert judged.reasons[0].code == code, where
        said.add((state, judged.reasons[0].code))
    return said


def test_a_night_with_a_stockout_and_a_pause_is_told_as_it_was(tmp_path: Path) -> None:
    shard = WatchedShard(tmp_path)
    live_through(shard)
    said = assert_alike(shard, tmp_path)
    assert {state for state, _ in said} == set(NeedState) - {NeedState.MET}
    assert (NeedState.BLOCKED, "rail.paused") in said
    assert (NeedState.BLOCKED, "supply.backoff") in said


def test_the_whole_list_of_a_past_cycle_says_what_each_answer_says(tmp_path: Path) -> None:
    shard = WatchedShard(tmp_path)
    live_through(shard)
    shard.close()
    segments, unjudged = segments_of(tmp_path), 0
    for decided, of in decided_again(segments, changed(shard.told)):
        given, states = decided.given, recorded_states(decided, segments, of)
        ledger = NeedsLedger(
            decided.decision, given.cycle, given.at, states, decided.facts, is_past=True
        )
        listing = ledger.listing()
        unjudged += listing.unjudged
        for row in listing.rows:
            state, code = shard.told[given.cycle][row.view.need.key]
            assert row.state is (None if state is NeedState.MET else state)
            if state is NeedState.BLOCKED:
                assert row.reason.code == code
        assert not listing.counts.met
        assert listing.counts.total + listing.unjudged == len(listing.rows)
        assert not ledger.listing(states=[NeedState.MET]).rows
    assert unjudged > 0


def test_an_operator_that_has_left_blocks_its_needs_until_it_is_back(tmp_path: Path) -> None:
    shard = WatchedShard(tmp_path)
    shard.report("shop", web(30))
    shard.until("2:42")
    shard.report("batch", report(1))
    shard.run_recorded(1)
    shard.leave("batch")
    shard.until("2:44")
    shard.report("batch", report(1))
    shard.until("2:46")
    said = assert_alike(shard, tmp_path)
    assert (NeedState.BLOCKED, "rail.no-operator") in said


def test_everything_paused_blocks_what_is_planned(tmp_path: Path) -> None:
    shard = WatchedShard(tmp_path)
    shard.pause(PauseRequest("ada", "drill", pause_id="p1"))
    shard.report("payments", settlement(4))
    shard.report("batch", report(1))
    shard.until("2:41")
    said = assert_alike(shard, tmp_path)
    assert said == {(NeedState.BLOCKED, "rail.paused")}


def test_a_margin_without_supply_is_not_called_short(tmp_path: Path) -> None:
    shard = WatchedShard(tmp_path)
    margin = replace(report(40), group=MARGIN_GROUP)
    shard.report("batch", margin)
    shard.until("2:41")
    shard.close()
    ((_, _, judged),) = read(tmp_path, {max(shard.told)})
    assert judged.state is None
    assert not judged.view.satisfied
    assert "a margin is short only while a pod waits" in judged.notes[-1]


def test_a_machine_that_does_not_come_is_stalled_once_enough_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines are configured within 15 s; here six of them are enough to know it."""
    for module in (need_judge, recorded_holds):
        monkeypatch.setattr(module, "LEAST_SEEN", 6)
    shard = WatchedShard(tmp_path)
    shard.report("shop", web(30))
    shard.run_recorded(14)
    shard.is_stuck = True
    shard.report("payments", settlement(1))
    shard.run_recorded(20)
    said = assert_alike(shard, tmp_path)
    assert (NeedState.BLOCKED, "flight.stalled") in said
