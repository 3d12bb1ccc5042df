"""What a change of a margin tells people: a sentence for an Event, and figures for metrics.

An Event goes out at most once per five minutes, controller and kind of news.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.placement.records import PodView


class NoteKind(StrEnum):
    """Reasons of Events."""

    RAISED = "MachinesAddedForStuckPods"
    GIVEN_UP = "MoreMachinesDoNotHelp"
    GANG_SPANS = "GangSpansMachines"
    NOT_REVISED = "DemandNotRevised"


@dataclass(frozen=True, slots=True)
class MarginNote:
    kind: NoteKind
    sentence: str
    need: NeedKey | None = None
    #: Pods to tell it on; empty: it is about the cluster.
    pods: tuple[PodView, ...] = ()

    @property
    def is_warning(self) -> bool:
        return self.kind is not NoteKind.RAISED


@dataclass(slots=True)
class MarginFigures:
    """Counted since the start."""

    rounds: int = 0
    fruitless: int = 0
    refusals: int = 0
    probes: int = 0
    restored: int = 0
    left_empty: int = 0


class Notes:
    def __init__(self, event_every: Instant) -> None:
        self._every = event_every
        self._told_at: dict[tuple[NoteKind, str], Instant] = {}
        self._told_not_revised = False

    def __len__(self) -> int:
        return len(self._told_at)

    def told(
        self,
        kind: NoteKind,
        need: NeedKey,
        pods: Iterable[PodView],
        at: Instant,
        *,
        machines: int = 0,
    ) -> list[MarginNote]:
        """One note for each controller that was not told of it lately."""
        notes = []
        for pod in pods:
            who = (kind, pod.owner or pod.key)
            told_at = self._told_at.get(who)
            if told_at is None or at - told_at >= self._every:
                self._told_at[who] = at
                notes.append(MarginNote(kind, _sentence(kind, pod, machines), need, (pod,)))
        return notes

    def not_revised(self, cluster: str) -> list[MarginNote]:
        """Once: this shard does not say what it counts for a Need."""
        if self._told_not_revised:
            return []
        self._told_not_revised = True
        sentence = (
            f"the shard of cluster {cluster} does not say what it counts for a Need: pods that are"
            " covered and cannot be placed get no further machines"
        )
        return [MarginNote(NoteKind.NOT_REVISED, sentence)]

    def forget(self, at: Instant) -> None:
        for who in [who for who, told in self._told_at.items() if at - told >= self._every]:
            del self._told_at[who]


def _sentence(kind: NoteKind, pod: PodView, machines: int) -> str:
    words = f": {pod.verdict}" if pod.verdict else ""
    match kind:
        case NoteKind.RAISED:
            count = "1 more machine" if machines == 1 else f"{machines} more machines"
            return f"capacity is there and the scheduler finds no place; {count} asked for{words}"
        case NoteKind.GIVEN_UP:
            return f"3 rounds of more machines did not help; they go back, tried again later{words}"
        case NoteKind.GANG_SPANS:
            return (
                "the machines of this gang are there and the scheduler does not place it; a gang"
                f" that spans machines gets no further ones{words}"
            )
        case NoteKind.NOT_REVISED:
            raise AssertionError("told by not_revised")
