"""A whole shard in virtual time whose cycles and notes are kept, in the order of its journal."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from bigfleet.costs.recorded_statements import RecordedInvoices, invoices_of
from bigfleet.costs.statements import StatementBook
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle, Note
from bigfleet.journal.segments import segments_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.journal import JournalEvent
from bigfleet.model.needs import Need
from bigfleet.model.pauses import PauseScope
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import DrainCall, MachineRecord
from bigfleet.model.requirements import RACK_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_views import ActionView
from bigfleet.model.statements import InvoiceCall, Statement
from bigfleet.shard.instructions import CallProvider, Instruction, WriteAudit, WriteNote
from bigfleet.shard.rails.pauses import PauseRequest
from bigfleet.shard.settings import RailSettings, ShardSettings, ThrashSettings
from tests.hazards.virtual_fleet import VirtualFleet

#: Machines move at once: neither a cap nor a hold keeps them.
SETTINGS = ShardSettings(
    rails=RailSettings(reclaim_cap_fraction=0.0, empty_rollup_guard=False),
    thrash=ThrashSettings(hold=Seconds(0.0)),
)
EPOCH = 3


def wants(cluster: str, machines: int, priority: int, dollars: float = 0.0, rack: str = "") -> Need:
    """Whole machines; `dollars` are declared for an interruption, a quarter of them to reclaim."""
    unit = Resources.parse({"cpu": "8"})
    profile = Profile.of(
        [Requirement.of(RACK_KEY, Operator.IN, [rack])] if rack else [],
        priority=priority,
        interruption_bucket=bucket_of_dollars(dollars),
        reclamation_bucket=bucket_of_dollars(dollars / 4),
    )
    return Need(cluster, profile, unit.times(machines), unit)


class RecordedFleet(VirtualFleet):
    def __init__(
        self,
        records: Iterable[MachineRecord],
        drain_seconds: dict[str, int] | None = None,
        settings: ShardSettings = SETTINGS,
    ) -> None:
        self.told: list[FinishedCycle | Note] = []
        #: What the audit log says of each drain that ended well, and what the provider drained.
        self.audited: list[tuple[str, str]] = []
        self.drained: list[str] = []
        super().__init__(records, drain_seconds or {}, settings)

    def run(self, cycles: int) -> None:
        for _ in range(cycles):
            super().run(1)
            finished = self.state.decision_loop.finished
            assert finished is not None
            self.told.append(finished)

    def pause(self, kind: ActionKind, cluster: str) -> None:
        scope = PauseScope(cluster_ids=(cluster,), kinds=(kind,))
        asked = PauseRequest("ada", "a test", scope, 7200, pause_id=f"{kind.label}-{cluster}")
        self.state.parts.pauses.pause(asked, self.at)
        self._obey(self.state.taken())

    def resume(self) -> None:
        self.state.parts.pauses.resume("", True, self.at, "bob", "it is over")
        self._obey(self.state.taken())

    def _obey(self, instructions: Iterable[Instruction]) -> None:
        told = list(instructions)
        for each in told:
            match each:
                case WriteNote(cycle, body):
                    at = self.at if isinstance(body, JournalEvent) else body.at
                    self.told.append(Note(cycle, at, body))
                case WriteAudit(_, line) if line["outcome"] == "success":
                    self.audited.append((str(line["kind"]), str(line["machine"])))
                case CallProvider(call=DrainCall() as call):
                    self.drained.append(call.machine_id)
                case _:
                    pass
        super()._obey(told)


def live_statements(told: Sequence[FinishedCycle | Note]) -> list[Statement]:
    """As a living shard makes them, oldest first."""
    book, made = StatementBook(), list[Statement | None]()
    for each in told:
        if isinstance(each, FinishedCycle):
            book.see(EPOCH, each.given, each.actions, partial(getattr, each, "decision"))
        elif isinstance(each.body, ActionView):
            made.append(book.end(EPOCH, each.body))
    return [each for each in made if each is not None]


def write_journal(told: Sequence[FinishedCycle | Note], directory: Path) -> Path:
    file = JournalFile(directory, "shard-0", EPOCH, "0.3.0", JournalLimits())
    file.prepare()
    early: list[Note] = []
    for each in told:
        if isinstance(each, FinishedCycle):
            file.record(each, each.given.at)
            assert not early or file.note(early) == 0
            early = []
        elif file.takes_notes:
            assert file.note([each]) == 0
        else:
            early.append(each)
    file.close()
    return directory


def recorded_invoices(
    told: Sequence[FinishedCycle | Note], directory: Path, call: InvoiceCall | None = None
) -> RecordedInvoices:
    segments = segments_of(write_journal(told, directory))
    found = invoices_of(segments, call or InvoiceCall())
    assert found is not None
    return found


def dollars_of(record: MachineRecord, price: float) -> MachineRecord:
    return replace(record, price_per_hour=price)
