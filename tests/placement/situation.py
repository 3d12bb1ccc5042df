"""One Need of one cluster, its Nodes and pods, and a shard's replies in a word each."""

from collections.abc import Iterable
from dataclasses import replace

from bigfleet.model.cluster_reports import ClusterReportReply, NeedStanding
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.placement.admission import Admissions
from bigfleet.placement.margin_notes import MarginNote
from bigfleet.placement.margins import Margins
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.overhead import Overheads
from bigfleet.placement.records import PodView
from tests.placement.small import AT, PROFILE, amounts, node

MACHINE = amounts("8", "32Gi")


class Situation:
    """Machines of 8 cpu; the own row is what its pods ask for."""

    def __init__(self, profile: Profile = PROFILE, group: str = "") -> None:
        self.at: Instant = AT
        self.occupancy = Occupancy()
        self.overheads = Overheads()
        self.admissions = Admissions(self.occupancy)
        self.profile = profile
        self.need = NeedKey("shop", profile.fingerprint, group)
        self.margins = self._fresh()
        self.notes: list[MarginNote] = []
        self.sent: tuple[Need, ...] = ()

    def _fresh(self) -> Margins:
        return Margins("shop", self.occupancy, self.admissions, self.overheads)

    def restart(self) -> None:
        self.margins = self._fresh()

    # -- the cluster -----------------------------------------------------------------------------

    def nodes(self, count: int, *, first: int = 1) -> None:
        for number in range(first, first + count):
            self.occupancy.put_node(node(f"n{number}", since=self.at), self.at)
        self.overheads.look(self.occupancy, self.at)

    def put(self, *pods: PodView) -> None:
        for each in pods:
            named = replace(each, need=None if each.follows_node else self.need)
            self.occupancy.put_pod(named, self.at)

    def stuck(self, *pods: PodView) -> None:
        self.put(
            *(replace(p, unschedulable_since=self.at, judged_at=self.at, verdict="x") for p in pods)
        )

    def judge_again(self) -> None:
        for each in list(self.occupancy.all_waiting()):
            self.occupancy.put_pod(replace(each, judged_at=self.at), self.at)

    def bind(self, name: str, where: str) -> None:
        bound = replace(self.occupancy.pods[f"uid-{name}"], node=where)
        self.occupancy.put_pod(bound, self.at)

    # -- the shard -------------------------------------------------------------------------------

    def asked(self) -> Resources:
        total = Resources()
        for each in self.occupancy.pods.values():
            if each.need == self.need:
                total = total.plus(each.requests)
        return total

    def own(self) -> Need:
        pods = [p for p in self.occupancy.pods.values() if p.need == self.need]
        unit = Resources()
        for each in pods:
            unit = unit.most(each.requests)
        return Need("shop", self.profile, self.asked(), unit, group=self.need.group)

    def send(self) -> tuple[Need, ...]:
        self.margins.on_demand([self.own()] if self.occupancy.pods else [])
        self.sent = self.margins.rows(self.at)
        self.margins.on_sent(self.sent, self.at)
        return self.sent

    def reply(self, own: int, margin: int = 0, *, arriving: int = 0, coming: int = 0) -> None:
        """So many machines for the own row and for the margin; `coming` of the latter."""
        counts = {self.need: (own, arriving)}
        standings = []
        for row in self.sent:
            machines, left = counts.get(row.key, (margin, coming))
            claimed = MACHINE.times(machines)
            standings.append(
                NeedStanding(
                    row.key.fingerprint,
                    row.key.group,
                    claimed.covers(row.aggregate),
                    arriving=left,
                    wanted=row.aggregate,
                    claimed=claimed,
                    machines=machines,
                )
            )
        self.answer(standings)

    def answer(self, standings: Iterable[NeedStanding]) -> None:
        self.notes += self.margins.on_reply(ClusterReportReply(tuple(standings), 1), self.at)

    # -- time ------------------------------------------------------------------------------------

    def after(self, seconds: float) -> None:
        self.at += round(seconds * SECOND)

    def turn(self) -> bool:
        turn = self.margins.turn(self.at)
        self.notes += turn.notes
        return turn.changed

    def round(self, own: int, margin: int = 0) -> bool:
        """A roll-up, its reply, and a turn."""
        self.send()
        self.reply(own, margin)
        return self.turn()

    @property
    def margin(self) -> str:
        """As the row would be sent: `cpu 8500m`; empty: none."""
        rows = self.margins.margin_rows(self.at)
        return ", ".join(
            f"{name} {text}" for row in rows for name, text in row.aggregate.texts().items()
        )
