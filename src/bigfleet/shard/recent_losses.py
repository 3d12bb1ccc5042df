"""Machines that clusters lost lately, counted for people: a wave of spot machines, Nodes that went.

A loss is counted until nothing like it has happened for a quarter of an hour. What is kept is one
count for each cluster, cause, provider and capacity type, and at most `MOST_KEPT` of them.
"""

from dataclasses import replace

from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import MachineLoss

#: By its provider, who calls it Failed, ended it, or lists it no more. The other causes are those
#: that clusters report.
FAILED, TAKEN_BACK, VANISHED = "failed", "taken_back", "vanished"
KEPT_FOR = 900 * SECOND
MOST_KEPT = 500
#: Of what a provider says, kept characters.
MOST_TEXT = 200

_SERVING = (MachineState.CONFIGURING, MachineState.CONFIGURED)
_UNBOUND = (MachineState.IDLE, MachineState.SPECULATIVE)


class RecentLosses:
    def __init__(self) -> None:
        #: By cluster, cause, provider and capacity type; the one that was added to last is last.
        self._kept: dict[tuple[str, str, str, int], MachineLoss] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def views(self, at: Instant) -> tuple[MachineLoss, ...]:
        """Those of the last quarter of an hour, the newest first."""
        return tuple(each for each in reversed(self._kept.values()) if _is_recent(each, at))

    def note(
        self, machine: Machine, provider: str, cause: str, at: Instant, text: str = ""
    ) -> None:
        """A cluster has lost a machine that served it, or was about to; `text`: its provider's."""
        if not machine.cluster or machine.state not in _SERVING:
            return
        key = (machine.cluster, cause, provider, int(machine.capacity_type))
        known = self._kept.pop(key, None)
        if known is None or not _is_recent(known, at):
            known = MachineLoss(cause, machine.cluster, provider, machine.capacity_type, 0, at)
        number = known.machines + 1
        self._kept[key] = replace(
            known, machines=number, last_at=at, example=machine.id, text=text[:MOST_TEXT]
        )
        if len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    def on_adopted(self, before: Machine, after: Machine, provider: str, at: Instant) -> None:
        """A provider shows a machine in another state, which the shard did not ask for.

        One that was Configuring was perhaps never bound: its Configure may not have come through.
        """
        if before.state is not MachineState.CONFIGURED:
            return
        if after.state is MachineState.FAILED:
            self.note(before, provider, FAILED, at, after.last_error)
        elif after.state in _UNBOUND:
            self.note(before, provider, TAKEN_BACK, at)

    def tick(self, at: Instant) -> None:
        old = [key for key, each in self._kept.items() if not _is_recent(each, at)]
        for key in old:
            del self._kept[key]


def _is_recent(loss: MachineLoss, at: Instant) -> bool:
    return at - loss.last_at < KEPT_FOR
