"""Returns: machines of other homes that stand idle here, as long as they do.

For how long they have, and when that is long enough, is for the coordinator to say: what is named
and then taken by a Need is not named again, and is not offered if it is asked for meanwhile.
"""

from bigfleet.engine.donation import is_claimed
from bigfleet.model.machines import MachineState
from bigfleet.model.ownership import OwnershipView
from bigfleet.shard.coordination.context import CoordinationContext

#: Named at a time: a transfer takes far fewer.
MOST = 1000


class MachineReturns:
    def __init__(self, context: CoordinationContext) -> None:
        self._context = context
        self._view: OwnershipView | None = None
        #: Machines of that view that are this shard's and have their home elsewhere, by id.
        self._guests: tuple[str, ...] = ()

    def returnable(self) -> tuple[str, ...]:
        found = (m for m in self._guests_now() if self._is_returnable(m))
        return tuple(m for m, _ in zip(found, range(MOST), strict=False))

    def _guests_now(self) -> tuple[str, ...]:
        """Looked up once a view: it may have a row for every machine that ever moved."""
        view, me = self._context.owned_machines.ownership.view, self._context.shard_id
        if view is not self._view:
            self._view = view
            rows = view.overrides.values() if view is not None else ()
            self._guests = tuple(
                sorted(r.machine for r in rows if r.shard == me and r.home not in ("", me))
            )
        return self._guests

    def _is_returnable(self, machine: str) -> bool:
        context = self._context
        if context.machines.state_of(machine) is not MachineState.IDLE:
            return False
        decision = context.decision_loop.decision
        reserved = machine in context.decision_loop.reservations
        busy = context.checks.under_way(machine) or reserved
        return decision is not None and not busy and not is_claimed(decision, machine)
