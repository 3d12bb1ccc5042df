"""Machines on their way between shards, as quotas count them: no slot is used twice.

What was released counts here until the coordinator has moved its slot along, or until it is back.
What was granted to this shard counts before a List shows it: its slot came with the grant. Where it
stands is not known before that List, so until then it counts at every place.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from bigfleet.engine.places import Place
from bigfleet.model.coordination import Transfer, TransferState, TransferTier
from bigfleet.shard.effects import COORDINATION, Effects
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.reconciler import Reconciler

#: Of rows in the table COORDINATION.
PREFIX = "released/"
_MOVED = (TransferState.GRANTED, TransferState.DONE)


class _Released(msgspec.Struct):
    #: By machine.
    place_of: dict[str, Place]
    #: Slots that come back are slots again: nothing of the quota is used by them.
    slots: bool


class InTransit:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        stored: Mapping[str, bytes],
        reconciler: Reconciler,
    ) -> None:
        """`stored`: rows of COORDINATION, of an earlier life."""
        self._effects = effects
        self._machines = machines
        self._reconciler = reconciler
        #: By transfer, until it is decided and has taken effect.
        self._released = dict(self._read(stored))
        #: By transfer that is off: the mark after which a List brings its machines back.
        self._back_after: dict[str, int] = {}
        #: Machines that were granted to this shard.
        self._granted: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._released)

    # -- asking ----------------------------------------------------------------------------------

    def leaving(self) -> Counter[Place]:
        """What was released and is not here again."""
        here = self._machines
        return Counter(
            place
            for released in self._released.values()
            for machine, place in released.place_of.items()
            if machine not in here
        )

    def coming(self) -> int:
        """What was granted to this shard and is not here yet."""
        return sum(1 for machine in self._granted if machine not in self._machines)

    # -- events ----------------------------------------------------------------------------------

    def release(self, transfer: Transfer, place_of: Mapping[str, Place]) -> None:
        """On disk with the release itself."""
        before = self._released.get(transfer.id)
        places = {**(before.place_of if before is not None else {}), **place_of}
        released = _Released(places, transfer.tier is TransferTier.SPECULATIVE)
        self._released[transfer.id] = released
        self._effects.persist(COORDINATION, PREFIX + transfer.id, msgspec.json.encode(released))

    def follow(self, transfers: Iterable[Transfer], shard: str, mark: int) -> bool:
        """`transfers`: all of this shard's, as they were when the grants were made that come with
        them. `mark`: what is this shard's again comes with a List after it. True: something counts
        otherwise now.
        """
        known = {each.id: each for each in transfers}
        before = (len(self._released), self._granted)
        for name in list(self._released):
            transfer = known.get(name)
            if transfer is not None and transfer.state in _MOVED:
                self._drop(name)
            elif transfer is None or not transfer.state.open:
                self._back_after.setdefault(name, mark)
        self.end_returns()
        self._granted = frozenset(
            machine
            for each in known.values()
            if each.to_shard == shard
            and each.state is TransferState.GRANTED
            and each.tier is not TransferTier.SPECULATIVE
            for machine in each.machine_ids
        )
        return (len(self._released), self._granted) != before

    def end_returns(self) -> bool:
        """What came back counts as what it is; True: something did, or never will."""
        ended = [
            name
            for name, mark in self._back_after.items()
            if self._released[name].slots or self._reconciler.listed_since(mark)
        ]
        for name in ended:
            self._drop(name)
        return bool(ended)

    def forget(self) -> None:
        """The grants that come now were made without what was released."""
        for name in list(self._released):
            self._drop(name)

    # -- within ----------------------------------------------------------------------------------

    def _drop(self, transfer: str) -> None:
        del self._released[transfer]
        self._back_after.pop(transfer, None)
        self._effects.persist(COORDINATION, PREFIX + transfer, None)

    def _read(self, stored: Mapping[str, bytes]) -> Iterable[tuple[str, _Released]]:
        for key, row in stored.items():
            if not key.startswith(PREFIX):
                continue
            try:
                yield key.removeprefix(PREFIX), msgspec.json.decode(row, type=_Released)
            except msgspec.MsgspecError:
                # The grants that come with the next sync are counted without it.
                self._effects.persist(COORDINATION, key, None)
