"""Machines go home: what was moved and has stood idle elsewhere for long is handed back.

They take the same steps as any other transfer. Only the shard that has a machine knows whether it
is idle; it says so with every sync, and here is counted for how long it has said so without a
break. A leader that is new counts from its beginning.
"""

from collections import defaultdict

from bigfleet.coordinator.rebalancing import layers
from bigfleet.coordinator.rebalancing.rests import nanoseconds
from bigfleet.coordinator.rebalancing.scene import Scene
from bigfleet.coordinator.tables import TransferRow
from bigfleet.model.coordination import Transfer, TransferState, TransferTier
from bigfleet.model.reasons import duration_text

#: Who has them, whose they were, and the address of their provider.
Way = tuple[str, str, str]


def note_idle(scene: Scene) -> None:
    """Once a sweep, before anything is decided."""
    for shard, memory in scene.book.shards.items():
        told = memory.sync.returnable if memory.sync is not None else ()
        known = memory.returnable_since if scene.book.is_syncing(shard, scene.at) else {}
        memory.returnable_since = {machine: known.get(machine, scene.at) for machine in told}


def open_returns(scene: Scene, most_rows: int) -> None:
    """One transfer for each way, as many machines as one may hold."""
    for way, machines in sorted(_ready(scene).items()):
        if scene.draft.size >= most_rows:
            return
        if layers.why_no_return(scene, *way) is None:
            _open(scene, way, machines[: scene.rules.max_per_transfer])


def _ready(scene: Scene) -> dict[Way, list[str]]:
    found: dict[Way, list[str]] = defaultdict(list)
    for shard in scene.shards:
        memory = scene.book.shards.get(shard.id)
        for machine in sorted(memory.returnable_since) if memory is not None else ():
            row = scene.draft.overrides.get(machine)
            if row is None or row.shard != shard.id or row.home == shard.id:
                continue
            if layers.why_not_returned(scene, row) is None:
                found[row.shard, row.home, row.provider].append(machine)
    return found


def _open(scene: Scene, way: Way, machines: list[str]) -> None:
    holder, home, provider = way
    idle = duration_text(scene.rules.return_after)
    reason = f"{len(machines)} machines of {home} have been idle at {holder} for {idle}"
    transfer = Transfer(
        id=f"{scene.book.term}-{scene.draft.next_number()}",
        tier=TransferTier.RETURN,
        from_shard=holder,
        to_shard=home,
        state=TransferState.OFFERED,
        machine_ids=tuple(machines),
        created_at=scene.at,
        updated_at=scene.at,
        reason=reason,
    )
    due = scene.at + nanoseconds(scene.rules.offer_ttl)
    row = scene.draft.transfers.put(TransferRow(transfer, provider, most=len(machines), due=due))
    scene.draft.note("transfer", transfer.id, f"{holder} is asked: {reason}")
    scene.opened(row)
