"""Preemptions that caused each other: a Need that lost a machine preempts in turn."""

from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.thrash import TraceAction

#: A chain of more preemptions than this is a finding.
LONGEST_CHAIN = 4
#: Needs whose victims, and Needs whose losses, are remembered.
MOST_NEEDS = 20_000
#: Oldest first.
Chain = tuple[TraceAction, ...]


class Chains:
    def __init__(self, window_seconds: float) -> None:
        self._window = window_seconds * SECOND
        #: By the Need that lost a machine, for each length of chain the one that began last.
        self._losses: dict[NeedKey, dict[int, Chain]] = {}

    def __len__(self) -> int:
        return len(self._losses)

    def extend(self, preempt: TraceAction) -> list[Chain]:
        """The chains that end with a Preempt: it alone, then those that led to it.

        Causes come before their effects: what a Need loses in a cycle it learns in the next.
        """
        if preempt.preemptor is None:
            return []
        chains: list[Chain] = [(preempt,)]
        for before in self._losses.get(preempt.preemptor, {}).values():
            if preempt.at - before[0].at <= self._window and before[-1].cycle < preempt.cycle:
                chains.append((*before, preempt))
        losses = self._losses.setdefault(preempt.holder, {})
        for chain in chains:
            length = len(chain)
            if length <= LONGEST_CHAIN and (
                length not in losses or losses[length][0].at <= chain[0].at
            ):
                losses[length] = chain
        return chains

    def prune(self, at: Instant) -> None:
        for need, chains in list(self._losses.items()):
            if not any(at - chain[0].at <= self._window for chain in chains.values()):
                del self._losses[need]
        for need in list(self._losses)[: max(0, len(self._losses) - MOST_NEEDS)]:
            del self._losses[need]
