"""Owned machines: what the coordinator has given this shard, on disk before it is acted on.

One row holds the newest view, for which providers it counts, what is being given up and what was
released. Losses take effect in the moment they are told, gains only from disk. A row that cannot
be read does not count: the shard owns nothing then, until the coordinator answers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    Done,
    NotYet,
    Obeyed,
    Refused,
)
from bigfleet.model.machines import Instant
from bigfleet.model.ownership import (
    PROVIDER_KEY,
    Lingering,
    MachineOverride,
    Ownership,
    OwnershipView,
    Pair,
    PastOwner,
    owner_of,
)
from bigfleet.shard.effects import COORDINATION, Effects
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.reconciler import Reconciler
from bigfleet.shard.settings import ShardSettings

#: Of the row in the table COORDINATION.
KEY = "ownership"


class OwnedMachines:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        reconciler: Reconciler,
        settings: ShardSettings,
        providers: Mapping[str, str],
        stored: Mapping[str, bytes],
    ) -> None:
        """`providers`: addresses by name. `stored`: rows of COORDINATION, of an earlier life."""
        self._effects = effects
        self._machines = machines
        self._reconciler = reconciler
        self._shard_id = settings.id
        self._providers = providers
        #: What the last row was made of, for which view, and what it says.
        self._rowed: tuple[Ownership, OwnershipView, Ownership] | None = None
        _, problem = ownership_of(settings.id, stored.get(KEY))
        if problem:
            text = (
                f"what this shard owned cannot be read ({problem}); it owns nothing, and nothing is"
                " done with any machine, until the coordinator answers"
            )
            effects.log("error", "ownership_unreadable", text)
        self._measure()

    @property
    def ownership(self) -> Ownership:
        return self._reconciler.ownership

    # -- views -----------------------------------------------------------------------------------

    def row_of(self, view: OwnershipView, covered: Iterable[str]) -> bytes:
        """What must be on disk before `take_view`; changes nothing, so it may run in a thread."""
        now = self.ownership
        after = now.newer(view, covered)
        self._rowed = (now, view, after)
        return row_of_ownership(after)

    def take_view(self, view: OwnershipView, covered: Iterable[str], at: Instant) -> None:
        now, rowed, self._rowed = self.ownership, self._rowed, None
        if rowed is not None and rowed[0] is now and rowed[1] is view:
            after = rowed[2]
        else:
            # Something changed since the row was made: what is on disk is not what comes now.
            after = now.newer(view, covered)
            self._keep(after)
        if after is not now:
            self._change(after, at)

    def listed_since_view(self, mark: int | None = None) -> bool:
        """Whether a List of every provider that was begun after the newest view was taken over has
        been taken over itself.

        `mark`: after that `mark` instead; views that come one upon the other cause no delay then.
        """
        return self._reconciler.listed_since(self.mark if mark is None else mark)

    @property
    def mark(self) -> int:
        """Grows with every view that may have brought machines."""
        return self._reconciler.generation

    # -- domains ---------------------------------------------------------------------------------

    def assign(self, instruction: CoordinatorInstruction, at: Instant) -> Obeyed:
        """The view does the work; here it is only waited for."""
        pair = _pair_of(instruction)
        if self.ownership.everything:
            return Done()
        view = self.ownership.view
        if view is not None and view.held_by(pair) == self._shard_id:
            return Done()
        return NotYet(f"no view gives {_text(pair)} to this shard yet")

    def unassign(self, instruction: CoordinatorInstruction, at: Instant) -> Obeyed:
        pair, before = _pair_of(instruction), self.ownership
        if before.everything:
            return Refused(
                f"this shard owns everything it is told of (ownership: all), {_text(pair)} too;"
                " start it with ownership: assigned"
            )
        after = before.giving_up(pair)
        if after is not before:
            self._keep(after)
            self._change(after, at)
            self._effects.log("info", "domain_given_up", f"{_text(pair)} is being given up")
        self._reconciler.settle(at)
        if why := self._why_not_given_up(pair):
            return NotYet(why)
        if pair in after.lingering:
            left = after.without_lingering(pair)
            self._keep(left)
            self._reconciler.on_ownership(left, at, lost=())
            self._effects.log("info", "domain_left", f"nothing in {_text(pair)} is held here")
        return Done()

    # -- transfers -------------------------------------------------------------------------------

    def release(self, machine_ids: Iterable[str], transfer: str, at: Instant) -> None:
        """Not this shard's from here on; on disk before the coordinator hears of it."""
        names = tuple(machine_ids)
        after = self.ownership.releasing(names, transfer)
        self._keep(after)
        self._reconciler.on_ownership(after, at, lost=names)
        self._measure()

    def readopt(self, transfer: str, at: Instant) -> None:
        """The transfer is decided; what it was given comes back with a List, if it is ours."""
        now = self.ownership
        after = now.readopting(transfer)
        if len(after.released) != len(now.released):
            self._keep(after)
            self._reconciler.on_ownership(after, at, lost=())
            self._measure()

    # -- what is held, for a coordinator that asks -------------------------------------------------

    def held_overrides(self) -> tuple[MachineOverride, ...]:
        """Rows by which this shard has machines, and machines it has released. A row of a machine
        that is home again is left out where the machine would be ours without it."""
        view, shard = self.ownership.view or OwnershipView(), self._shard_id
        others = replace(view, overrides={})
        held = (row for row in view.overrides.values() if row.shard == shard)
        marks = self.ownership.released.items()
        return (
            *(row for row in held if not self._changes_nothing(row, others)),
            *(MachineOverride(machine, "", shard, transfer) for machine, transfer in marks),
        )

    def held_pairs(self) -> tuple[Pair, ...]:
        """Domains of this shard, and under PROVIDER_KEY providers whose default owner it is."""
        ownership, shard = self.ownership, self._shard_id
        if (view := ownership.view) is None:
            return ()
        mine = [pair for pair, owner in view.domains.items() if owner == shard]
        mine += [(PROVIDER_KEY, a) for a, owner in view.default_owners.items() if owner == shard]
        mine += [pair for pair, given in ownership.lingering.items() if given.before == shard]
        return tuple(sorted(mine))

    # -- within ----------------------------------------------------------------------------------

    def _why_not_given_up(self, pair: Pair) -> str:
        ownership, reconciler = self.ownership, self._reconciler
        if ownership.view is None or ownership.view.held_by(pair) is None:
            return f"no view that has {_text(pair)} came yet"
        if pair in ownership.unconfirmed:
            return f"the view that takes {_text(pair)} away is still on its way"
        if ownership.released:
            # The next owner would own them by the pair, until it hears to whom they were granted.
            return f"{len(ownership.released)} machines are released to undecided transfers"
        if pair not in ownership.lingering:
            return ""
        if not reconciler.listed_since(0):
            return "not every provider has been listed since this shard was started"
        if reconciler.is_sweeping():
            return f"machines in {_text(pair)} are still leaving"
        if occupied := reconciler.occupied_in(pair):
            return f"{occupied} machines in {_text(pair)} are still bound, pending or draining"
        return ""

    def _changes_nothing(self, row: MachineOverride, others: OwnershipView) -> bool:
        """`others`: the view without such rows. Of a machine that is not here it is not known."""
        name = row.machine
        if row.home != self._shard_id or name not in self._machines:
            return False
        machine, provider = self._machines.truth(name), self._machines.provider_of(name)
        address = self._providers.get(provider, provider)
        return owner_of(name, machine.attribute, address, others).shard == self._shard_id

    def _change(self, after: Ownership, at: Instant) -> None:
        self._reconciler.on_ownership(after, at)
        self._measure()

    def _keep(self, ownership: Ownership) -> None:
        self._effects.persist(COORDINATION, KEY, row_of_ownership(ownership))

    def _measure(self) -> None:
        self._effects.counts.set("ownership_revision", self.ownership.revision)


def _pair_of(instruction: CoordinatorInstruction) -> Pair:
    return instruction.topology_key, instruction.topology_value


def _text(pair: Pair) -> str:
    key, value = pair
    return f"provider {value}" if key == PROVIDER_KEY else f"{key}={value}"


# -- on disk ---------------------------------------------------------------------------------------


class _Row(msgspec.Struct):
    shard: str
    #: None: there is no view, and nothing lingers.
    revision: int | None
    keys: list[str]
    domains: list[tuple[str, str, str]]
    overrides: list[MachineOverride]
    default_owners: dict[str, str]
    covered: list[str]
    lingering: list[tuple[str, str, Lingering]]
    unconfirmed: list[Pair]
    released: dict[str, str]
    turn: int
    past: list[tuple[str, str, tuple[PastOwner, ...]]]
    asked: list[str]


def row_of_ownership(ownership: Ownership) -> bytes:
    view = ownership.view or OwnershipView()
    return msgspec.json.encode(
        _Row(
            ownership.shard_id,
            view.revision if ownership.view is not None else None,
            list(view.keys),
            [(key, value, shard) for (key, value), shard in view.domains.items()],
            list(view.overrides.values()),
            dict(view.default_owners),
            sorted(ownership.covered),
            [(key, value, given) for (key, value), given in ownership.lingering.items()],
            sorted(ownership.unconfirmed),
            dict(ownership.released),
            ownership.turn,
            [(key, value, was) for (key, value), was in ownership.past.items()],
            list(ownership.asked),
        )
    )


def ownership_of(shard_id: str, row: bytes | None) -> tuple[Ownership, str]:
    """Of an assigned shard at its birth; and, if the row cannot be used, why."""
    nothing = Ownership(shard_id, everything=False)
    if row is None:
        return nothing, ""
    try:
        kept = msgspec.json.decode(row, type=_Row)
    except msgspec.MsgspecError as problem:
        return nothing, str(problem)
    if kept.shard != shard_id:
        return nothing, f"it is of shard {kept.shard}"
    if kept.revision is None:
        return replace(nothing, released=kept.released), ""
    view = OwnershipView(
        kept.revision,
        {(key, value): shard for key, value, shard in kept.domains},
        {row.machine: row for row in kept.overrides},
        kept.default_owners,
        tuple(kept.keys),
    )
    return (
        Ownership(
            shard_id,
            everything=False,
            view=view,
            covered=frozenset(kept.covered),
            lingering={(key, value): given for key, value, given in kept.lingering},
            unconfirmed=frozenset(kept.unconfirmed),
            released=kept.released,
            turn=kept.turn,
            past={(key, value): was for key, value, was in kept.past},
            asked=tuple(kept.asked),
        ),
        "",
    )
