"""What the shard says about the fate of its actions: counts, a log line for each one of a dry-run,
and a wake where only the budget stood in the way.
"""

from collections import Counter
from collections.abc import Sequence

from bigfleet.edge.counts import Counts
from bigfleet.model.actions import ActionKind
from bigfleet.model.shard_views import Disposition
from bigfleet.shard.effects import Effects
from bigfleet.shard.rails.dispositions import Disposed

#: Dispositions with a counter of their own, and whether it tells kinds apart.
_OWN_COUNTER = {
    Disposition.ENQUEUED: ("actions_total", True),
    Disposition.SUPPRESSED: ("actions_suppressed_total", True),
    Disposition.DRY_RUN: ("actions_dryrun_total", True),
    Disposition.DEFERRED: ("actions_deferred_total", False),
    Disposition.DROPPED: ("actions_dropped_total", False),
    Disposition.DEDUPED: ("actions_deduped_total", False),
}
_CAPPED = {
    ActionKind.RECLAIM: "reclaims_capped_total",
    ActionKind.PREEMPT: "preempts_capped_total",
}


def record(disposed: Disposed, sentences: Sequence[str], cycle: int, effects: Effects) -> None:
    """`sentences`: why each action was decided, in the same order."""
    _count(disposed, effects.counts)
    for ruling, sentence in zip(disposed.rulings, sentences, strict=True):
        if ruling.disposition is Disposition.DRY_RUN:
            effects.log(
                "info",
                "dry_run",
                f"would {ruling.action.kind.name.lower()} {ruling.action.machine}",
                cycle=cycle,
                kind=ruling.action.kind.label,
                machine=ruling.action.machine,
                cluster=ruling.action.cluster,
                reason=sentence,
            )
    if disposed.more_to_do:
        effects.wake()


def _count(disposed: Disposed, counts: Counts) -> None:
    tally = Counter((ruling.action.kind, ruling.disposition) for ruling in disposed.rulings)
    for (kind, disposition), number in tally.items():
        label = kind.label
        counts.add(
            "action_dispositions_total", number, kind=label, disposition=disposition.name.lower()
        )
        name, by_kind = _OWN_COUNTER.get(disposition, ("", False))
        if disposition is Disposition.CAPPED:
            name = _CAPPED[kind]
        if name and by_kind:
            counts.add(name, number, kind=label)
        elif name:
            counts.add(name, number)
