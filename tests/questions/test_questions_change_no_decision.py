"""Journal, explanations, what-ifs and lists are beside the cycles: whatever of them runs, the night
is decided the same, byte for byte."""

import asyncio
from pathlib import Path

from bigfleet.journal.digests import output_digest
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.model.explanations import ExplainNeedCall
from bigfleet.model.machine_answers import (
    CycleCall,
    DecisionQuery,
    MachineCall,
    WhyNotCall,
    WhyNotQuestion,
)
from bigfleet.model.shard_views import ActionView, NeedQuery
from bigfleet.shard.driving.explanations import Explanations
from bigfleet.shard.fleet_dump import FleetDump
from bigfleet.whatif.comparing import once
from bigfleet.whatif.counterfactual import counterfactuals
from bigfleet.whatif.overlay_text import edit_of
from tests.questions.recorded_night import NIGHT, RecordedShard, live_through

#: Between two rounds of questions; the night has 384 cycles.
EVERY = 16
ZONE_LOSS = (edit_of("zone-loss", "b"),)


class AskedShard(RecordedShard):
    """Asked everything there is to ask, again and again, of now and of an earlier cycle."""

    def __init__(self, file: JournalFile, journal: Path) -> None:
        self._journal = journal
        self.answers = 0
        super().__init__(file)

    def run_recorded(self, cycles: int) -> None:
        super().run_recorded(cycles)
        if self.state.decision_loop.number % EVERY == 0:
            self.answers += asyncio.run(self._asked())

    async def _asked(self) -> int:
        finished = self.state.decision_loop.finished
        assert finished is not None
        given, decision, answers = finished.given, finished.decision, 0
        self._file.sync()
        explanations = Explanations(self.state, self._journal)
        for cycle in (0, max(1, given.cycle - 5)):
            for view in (await explanations.cycle(CycleCall(cycle))).actions:
                await explanations.machine(MachineCall(view.machine, cycle))
            for machine in given.snapshot.ids[:4]:
                await explanations.machine(MachineCall(machine, cycle))
                await explanations.why_not(WhyNotCall(WhyNotQuestion.REMOVED, machine, None, cycle))
                answers += 2
        for verdict in decision.verdicts:
            await explanations.need(ExplainNeedCall(verdict.need.key))
            counterfactuals(given, verdict.need.key, clock=lambda: 0.0, most_runs=8)
            answers += 2
        await explanations.decisions(DecisionQuery(from_cycle=1))
        await explanations.needs(NeedQuery(cycle=max(1, given.cycle - 5)))
        once(given, ZONE_LOSS, "1:1")
        loop = self.state.decision_loop
        loop.ledger.listing("", 0, (), "")
        dump = FleetDump(given, loop.plan_options(), "shard-0", 1)
        assert dump.header()
        return answers


class SilentFile(JournalFile):
    """Records nothing, as a shard whose journal is switched off."""

    def record(self, cycle: object, at: object) -> None:
        pass

    def note(self, notes: object) -> int:
        return 0


class UnrecordedShard(RecordedShard):
    def __init__(self, file: JournalFile) -> None:
        self.digests: list[bytes] = []
        super().__init__(file)

    def run_recorded(self, cycles: int) -> None:
        super().run_recorded(cycles)
        finished = self.state.decision_loop.finished
        assert finished is not None
        self.digests.append(output_digest(finished.decision))


def night_of(journal: Path) -> list[RecordedCycle]:
    return list(History().cycles(records_in_order(segments_of(journal))))


def digests_of(night: list[RecordedCycle]) -> list[bytes]:
    """Of every cycle's actions; those of a quiet cycle are not stored, and decided again."""
    return [output_digest(each.decision) for each in replayed(night)]


def done_in(night: list[RecordedCycle]) -> list[tuple[ActionView, ...]]:
    """What became of every action at the rails."""
    return [each.output.actions for each in night if each.output is not None]


def test_whatever_is_asked_meanwhile_the_night_is_the_same(tmp_path: Path) -> None:
    file = JournalFile(tmp_path, "shard-0", 1, "0.3.0", JournalLimits())
    file.prepare()
    shard = AskedShard(file, tmp_path)
    live_through(shard)
    file.close()
    assert shard.answers > 300
    again, told = night_of(tmp_path), night_of(NIGHT)
    assert digests_of(again) == digests_of(told)
    assert done_in(again) == done_in(told)


def test_without_a_journal_the_same_is_decided(tmp_path: Path) -> None:
    shard = UnrecordedShard(SilentFile(tmp_path, "shard-0", 1, "0.3.0", JournalLimits()))
    live_through(shard)
    assert shard.digests == digests_of(night_of(NIGHT))
