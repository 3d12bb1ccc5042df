"""A coordinator in short: domains, default owners and single machines change hands in two steps.

It does what ADR-0008 says and nothing else. `Fleet` has it over shards that are nothing but their
ownership. What is on its way to a shard may be late or lost; a shard may lose its memory, but not
its disk.
"""

from dataclasses import dataclass, field, replace
from itertools import count

from bigfleet.model.ownership import (
    PROVIDER_KEY,
    MachineOverride,
    Ownership,
    OwnershipView,
    Pair,
    key_order,
    owner_of,
)
from bigfleet.shard.coordination.owned_machines import ownership_of, row_of_ownership

SHARDS = ("a", "b", "c")
PROVIDERS = ("acme:1", "bolt:1")
LISTED = ("zone",)
#: Ids say what a machine is: zone, rack, row, provider.
MACHINES = {
    f"m-{zone}{rack}{row}-{provider}": (
        {"zone": zone, "rack": rack, "row": row},
        provider,
    )
    for zone in "xy"
    for rack in "12"
    for row in "pq"
    for provider in PROVIDERS
}
PAIRS: tuple[Pair, ...] = (
    ("zone", "x"),
    ("zone", "y"),
    ("rack", "1"),
    ("rack", "2"),
    ("row", "p"),
)


@dataclass
class Row:
    """The owner of a pair, now or when no shard holds it any more."""

    shard: str
    holders: set[str] = field(default_factory=set)

    @property
    def owner(self) -> str:
        return "" if self.holders else self.shard


@dataclass
class Transfer:
    machine: str
    donor: str
    receiver: str
    #: asked, released, granted, cancelled
    state: str = "asked"


class Coordinator:
    def __init__(self, defaults: dict[str, str]) -> None:
        self.revision = 1
        #: Domains, and under PROVIDER_KEY default owners.
        self.rows = {(PROVIDER_KEY, provider): Row(shard) for provider, shard in defaults.items()}
        self.overrides: dict[str, MachineOverride] = {}
        self.transfers: dict[str, Transfer] = {}
        self._numbers = count(1)

    def assign(self, pair: Pair, shard: str) -> None:
        if pair in self.rows:
            return
        keys = {pair[0], *(key for key, _ in self.rows if key != PROVIDER_KEY)}
        order = (*key_order(LISTED, keys), PROVIDER_KEY)
        holders: set[str] = set()
        for (key, _), row in self.rows.items():
            if order.index(key) > order.index(pair[0]):
                holders |= {row.shard, *row.holders}
        self._change(pair, Row(shard, holders - {shard, ""}))

    def unassign(self, pair: Pair) -> None:
        row = self.rows.get(pair)
        if row is not None and not row.holders:
            self._change(pair, Row("", {row.shard}))

    def set_default(self, provider: str, shard: str) -> None:
        row = self.rows[PROVIDER_KEY, provider]
        if not row.holders and row.shard != shard:
            self._change((PROVIDER_KEY, provider), Row(shard, {row.shard}))

    def hold_back(self, transfer: str) -> None:
        """Called off before it was granted."""
        known = self.transfers[transfer]
        if known.state in ("asked", "released"):
            known.state = "cancelled"

    def grant(self, transfer: str) -> None:
        known = self.transfers[transfer]
        if known.state == "released":
            known.state = "granted"
            before = self.overrides.get(known.machine)
            home = before.home if before else known.donor
            row = MachineOverride(known.machine, known.receiver, home, transfer)
            self.revision += 1
            self.overrides[known.machine] = row

    def view(self) -> OwnershipView:
        domains = {p: row.owner for p, row in self.rows.items() if p[0] != PROVIDER_KEY}
        defaults = {p[1]: row.owner for p, row in self.rows.items() if p[0] == PROVIDER_KEY}
        return OwnershipView.of(self.revision, LISTED, domains, self.overrides.values(), defaults)

    def pending(self, shard: str) -> list[Pair]:
        """What a shard is told to give up, until it says that it did."""
        return [pair for pair, row in self.rows.items() if shard in row.holders]

    def offer(self, donor: str, receiver: str, machine: str) -> None:
        moving = {t.machine for t in self.transfers.values() if t.state in ("asked", "released")}
        row = self.overrides.get(machine)
        if donor != receiver and machine not in moving and (row is None or row.shard == donor):
            self.transfers[f"t{next(self._numbers)}"] = Transfer(machine, donor, receiver)

    def on_given_up(self, shard: str, pair: Pair) -> None:
        row = self.rows.get(pair)
        if row is None or shard not in row.holders:
            return
        row.holders.discard(shard)
        if not row.holders:
            self.revision += 1
            if not row.shard:
                del self.rows[pair]

    def _change(self, pair: Pair, row: Row) -> None:
        self.revision += 1
        self.rows[pair] = row


class Fleet(Coordinator):
    def __init__(self) -> None:
        super().__init__({"acme:1": "a", "bolt:1": "b"})
        self.occupied: set[str] = set()
        self.shards = {name: Ownership(name, everything=False) for name in SHARDS}
        #: Answers on their way.
        self.late: dict[str, OwnershipView] = {}

    def sync(self, shard: str) -> None:
        self._keep(self.shards[shard].newer(self.view(), PROVIDERS))

    def ask(self, shard: str) -> None:
        """The coordinator answers, and the answer takes its time."""
        self.late[shard] = self.view()

    def arrive(self, shard: str) -> None:
        if (view := self.late.pop(shard, None)) is not None:
            self._keep(self.shards[shard].newer(view, PROVIDERS))

    def hear(self, shard: str, pair: Pair) -> None:
        """The instruction came, its answer did not get through."""
        if self.shards[shard].view is not None:
            self._keep(self.shards[shard].giving_up(pair))

    def answer(self, shard: str, pair: Pair) -> None:
        """The instruction came; if nothing is left there, the coordinator hears of it."""
        self.hear(shard, pair)
        ownership = self.shards[shard]
        if ownership.view is None or ownership.view.held_by(pair) is None:
            return
        if pair in ownership.unconfirmed or ownership.released:
            return
        if any(pair in self.lingers_in(shard, m) for m in self.occupied):
            return
        self._keep(ownership.without_lingering(pair))
        self.on_given_up(shard, pair)

    def release(self, transfer: str) -> None:
        known = self.transfers[transfer]
        free = known.machine not in self.occupied
        if known.state == "asked" and free and self.owns(known.donor, known.machine, False):
            self._keep(self.shards[known.donor].releasing([known.machine], transfer))
            known.state = "released"

    def readopt(self, transfer: str) -> None:
        known = self.transfers[transfer]
        if known.state == "cancelled":
            self._keep(self.shards[known.donor].readopting(transfer))

    def restart(self, shard: str) -> None:
        """Only what is on disk is left."""
        kept, problem = ownership_of(shard, row_of_ownership(self.shards[shard]))
        assert not problem
        self.shards[shard] = kept

    def use(self, shard: str, machine: str) -> None:
        if machine not in self.occupied and self.owns(shard, machine, False):
            self.occupied.add(machine)

    def free(self, shard: str, machine: str) -> None:
        if machine in self.occupied and self.owns(shard, machine, True):
            self.occupied.discard(machine)

    # -- asking ----------------------------------------------------------------------------------

    def owns(self, shard: str, machine: str, occupied: bool) -> bool:
        attributes, provider = MACHINES[machine]
        return self.shards[shard].owns(machine, attributes.get, provider, occupied=occupied)

    def lingers_in(self, shard: str, machine: str) -> tuple[Pair, ...]:
        attributes, provider = MACHINES[machine]
        return self.shards[shard].lingers_in(machine, attributes.get, provider)

    def owners(self, machine: str) -> list[str]:
        """The shard that would act on it if a List, however old, showed it bound."""
        return [shard for shard in SHARDS if self.owns(shard, machine, True)]

    # -- within ----------------------------------------------------------------------------------

    def _keep(self, after: Ownership) -> None:
        before = self.shards[after.shard_id]
        self.shards[after.shard_id] = after
        for machine, (attributes, provider) in MACHINES.items():
            had = replace(before, released={}).owns(
                machine, attributes.get, provider, occupied=True
            )
            if had or not after.owns(machine, attributes.get, provider, occupied=True):
                continue
            view = after.view
            assert view is not None
            given = owner_of(machine, attributes.get, provider, view)
            assert given.shard == after.shard_id, f"{machine} came to {after.shard_id} by lingering"
