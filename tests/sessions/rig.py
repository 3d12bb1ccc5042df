"""Sessions over a handful of made-up machines: what is bound, open and sent is plain to see."""

from collections.abc import Iterable

from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import (
    Hello,
    NodeStateUpdate,
    ReclaimInstruction,
    ShardFrame,
)
from bigfleet.shard.effects import Effects
from bigfleet.shard.events import HelloRepeated, SessionClosed, SessionOpened
from bigfleet.shard.instructions import EndSession, FlushSession, Log
from bigfleet.shard.sessions.sessions import Sessions, Supply
from bigfleet.shard.settings import SessionSettings

START: Instant = 1_700_000_000 * SECOND


def update(machine: str, state: MachineState = MachineState.CONFIGURED) -> NodeStateUpdate:
    return NodeStateUpdate(machine, "shop", state)


class Rig:
    def __init__(
        self,
        bound: Iterable[str] = (),
        settings: SessionSettings | None = None,
        reclaims: Iterable[ReclaimInstruction] = (),
    ) -> None:
        self.effects = Effects()
        self.bound = list(bound)
        self.state_of = dict.fromkeys(self.bound, MachineState.CONFIGURED)
        self.reclaims = tuple(reclaims)
        self.elsewhere: dict[str, str] = {}
        self.lost: list[str] = []
        self.sessions = Sessions(
            self.effects,
            settings or SessionSettings(),
            Supply(
                bound_to=lambda cluster: self.bound,
                update_of=self._update_of,
                open_reclaims=lambda cluster, at: self.reclaims,
                why_elsewhere=lambda cluster: self.elsewhere.get(cluster, ""),
                lost=lambda cluster, at: self.lost.append(cluster),
                coordinator_term=lambda: 4,
            ),
            shard_epoch=7,
        )

    def open(
        self, number: int = 1, cluster: str = "shop", version: str = "v1alpha1", after: float = 0
    ) -> bool:
        hello = Hello(cluster, version)
        return self.sessions.on_opened(SessionOpened(number, hello, "peer", _at(after)))

    def repeat(self, number: int = 1, cluster: str = "shop", version: str = "v1alpha1") -> None:
        self.sessions.on_repeated(HelloRepeated(number, Hello(cluster, version), START))

    def close(self, number: int = 1) -> None:
        self.sessions.on_closed(SessionClosed(number, START))

    def tick(self, after: float) -> None:
        self.sessions.tick(_at(after))

    def read(self, number: int = 1, limit: int = 100) -> list[ShardFrame]:
        return self.sessions.take(number, limit)

    def ended(self) -> list[EndSession]:
        return [each for each in self.effects.taken() if isinstance(each, EndSession)]

    def flushes(self) -> int:
        return sum(isinstance(each, FlushSession) for each in self.effects.taken())

    def logged(self) -> list[str]:
        return [each.event for each in self.effects.taken() if isinstance(each, Log)]

    def counted(self, name: str, **labels: str) -> float:
        return self.effects.counts.of(name, **labels)

    def _update_of(self, machine: str, cluster: str) -> NodeStateUpdate | None:
        state = self.state_of.get(machine)
        return None if state is None else NodeStateUpdate(machine, cluster, state)


def _at(after: float) -> Instant:
    return START + round(after * SECOND)
