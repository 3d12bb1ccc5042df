"""A whole shard in virtual time whose provider can go down, dawdle or refuse, and whose operators
can leave and report."""

from collections import Counter
from dataclasses import replace

from bigfleet.model.cluster_reports import ClusterReport, StuckNeed
from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Ack, Code, MachineRecord, Rejected
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse
from bigfleet.model.shard_views import NeedQuery, NeedRow
from bigfleet.shard.events import BlobArrived, ListFailed, SessionClosed
from bigfleet.shard.instructions import CallProvider, GetCall
from tests.hazards.virtual_fleet import CLOUD, VirtualFleet, bound

SHOP, BANK = "shop", "bank"
MET, ARRIVING = NeedState.MET, NeedState.ARRIVING
BLOCKED, SHORT = NeedState.BLOCKED, NeedState.SHORT


def idle(name: str) -> MachineRecord:
    return bound(name, "")


def slot(name: str, kind: str = "std-8") -> MachineRecord:
    """A machine that can be bought."""
    return MachineRecord(
        name,
        MachineState.SPECULATIVE,
        instance_type=kind,
        zone="a",
        capacity_type=CapacityType.ON_DEMAND,
        price_per_hour=1.0,
        resources={"cpu": "8"},
    )


class VirtualShard(VirtualFleet):
    #: The provider answers nothing.
    down = False
    #: Calls that change a machine are refused with these words.
    refusal = ""
    refusal_code = Code.INVALID_ARGUMENT
    #: What is begun never ends.
    hangs = False
    #: Operators have nothing for machines to join with.
    blobless = False

    def row(self, need: Need) -> NeedRow:
        """What everybody is told of this Need; first reasons are counted as they are shown."""
        query = NeedQuery(need.cluster, count_reasons=True)
        listing = self.state.decision_loop.ledger.answer(query)
        shown = Counter(row.reason.code for row in listing.rows)
        assert {each.code: each.needs for each in listing.reasons} == shown
        return {row.view.need.key: row for row in listing.rows}[need.key]

    def state_of(self, need: Need) -> NeedState:
        found = self.row(need).state
        assert found is not None, "of the last cycle every Need is judged"
        return found

    def leaves(self, cluster: str) -> None:
        """Its operator is gone."""
        number = self._session_of.pop(cluster)
        self._obey(self.state.handle(SessionClosed(number, self.at)))
        # Numbers are never used twice.
        self._session_of[f"gone-{number}"] = number

    def tells(
        self, cluster: str, *, unusable: tuple[str, ...] = (), stuck: tuple[StuckNeed, ...] = ()
    ) -> None:
        """Its operator reports."""
        report = ClusterReport(cluster, self.at, unusable_machines=unusable, stuck=stuck)
        self.state.parts.cluster_reports.take(report, self.at)

    # -- the operators -------------------------------------------------------------------------

    def _read(self, session: int) -> None:
        if not self.blobless:
            super()._read(session)
            return
        for frame in self.state.take_frames(session, 1000):
            if isinstance(frame, BootstrapRequest):
                refused = BootstrapResponse(frame.request_id, error="no template")
                self._obey(self.state.handle(BlobArrived(session, refused, self.at)))

    # -- the provider ----------------------------------------------------------------------------

    def _list(self) -> None:
        if not self.down:
            super()._list()
            return
        problem = Rejected(Code.UNAVAILABLE, "connection refused")
        self._obey(self.state.handle(ListFailed(CLOUD, problem, self.at)))

    def _end_due(self) -> None:
        if self.hangs or self.down:
            return
        super()._end_due()
        for name, record in self.shelf.items():
            if record.state is MachineState.IDLE and record.host is None:
                self.shelf[name] = replace(record, host=Host(CLOUD, f"host-of-{name}"))

    def _answer(self, asked: CallProvider) -> Ack | MachineRecord | Rejected:
        if self.down:
            return Rejected(Code.UNAVAILABLE, "connection refused")
        if self.refusal and not isinstance(asked.call, GetCall):
            return Rejected(self.refusal_code, self.refusal)
        return super()._answer(asked)

    def age(self, need: Need) -> int:
        """Seconds a Need has been in its state."""
        return (self.at - self.row(need).since) // SECOND
