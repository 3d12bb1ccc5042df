"""The transfers this shard takes part in, as the last sync told them.

An instruction of a transfer counts only as far as this list bears it out. A list that does not know
the transfer yet may be older than the instruction: that is waited for once, and then it is refused.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bigfleet.model.coordination import Transfer, TransferState, transfer_of
from bigfleet.model.coordinator_calls import CoordinatorInstruction, NotYet, Obeyed, Refused


@dataclass(frozen=True, slots=True)
class TransferInstruction:
    """An instruction with the transfer that bears it out."""

    instruction: CoordinatorInstruction
    transfer: Transfer


class Transfers:
    def __init__(self) -> None:
        self._known: dict[str, Transfer] = {}
        self._syncs = 0
        #: Instructions no list has borne out, with the number of the sync before them.
        self._doubted: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Transfer]:
        return iter(self._known.values())

    def get(self, transfer: str) -> Transfer | None:
        return self._known.get(transfer)

    def is_draining(self, transfer: str) -> bool:
        known = self._known.get(transfer)
        return known is not None and known.state is TransferState.DRAINING

    def take(self, transfers: Iterable[Transfer]) -> None:
        """All there are for this shard."""
        self._known = {each.id: each for each in transfers}
        self._syncs += 1
        # What does not come again is not doubted for ever.
        self._doubted = {n: at for n, at in self._doubted.items() if at >= self._syncs - 2}

    def borne(
        self, instruction: CoordinatorInstruction, states: tuple[TransferState, ...]
    ) -> TransferInstruction | Obeyed:
        """The instruction with its transfer, where that is in one of these states."""
        name, _ = transfer_of(instruction.id)
        transfer = self._known.get(name)
        if transfer is not None and transfer.state in states:
            self._doubted.pop(instruction.id, None)
            stray = sorted(set(instruction.machine_ids) - set(transfer.machine_ids))
            if stray:
                return Refused(f"{stray[0]} is not a machine of transfer {name}")
            if not instruction.machine_ids:
                return Refused(f"the instruction names no machine of transfer {name}")
            return TransferInstruction(instruction, transfer)
        found = f"transfer {name} is {transfer.state.label}" if transfer else f"no transfer {name}"
        if transfer is not None and not transfer.state.open:
            return Refused(f"{found}: {transfer.reason or 'it is over'}")
        since = self._doubted.setdefault(instruction.id, self._syncs)
        if since == self._syncs:
            return NotYet(f"{found} in the last sync; the next one may tell more")
        del self._doubted[instruction.id]
        return Refused(f"{found} in the last sync")
