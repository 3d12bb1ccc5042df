"""Finds thrash in what was carried out: plain events in, findings with their witnesses out.

An action is told when it begins. What takes a machine away (Reclaim, Preempt, Delete) counts for
returns and re-buys only once it is seen complete: a drain that was given up moved nothing. Five
kinds are found, over a sliding window:

- return: a machine left a (cluster, profile) and is bound to it again within the dwell time
- ping-pong: it went from one cluster to another, and back
- chain: Needs that lost a machine to a preemption preempt in turn, five deep or more
- re-buy: an offering was released, and is bought again within the time its idle machines are kept
- repeated: a Need preempts again although its victims of earlier cycles (of a gang: in the domain
  it has chosen) cover what it lacks

A witness holds only what the finding needs: without any one of its actions there is none. Where
a lower Need took a victim, it also holds the action by which it did.

Nothing here knows who decides, or reads a clock: a shard tells it what it does, a journal what was
done. What it remembers is bounded by the window and by the limits below.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.thrash import ThrashKind, TraceAction
from bigfleet.thrash.chains import LONGEST_CHAIN, MOST_NEEDS, Chains

#: Machines whose moves are remembered: two percent of 225,000 machines a minute for half an hour.
MOST_MACHINES = 135_000
#: Of one machine: from one cluster to another, and away from that.
MOVES_OF_A_MACHINE = 3
#: Releases of one offering that are remembered.
MOST_RELEASES = 256
#: Victims of one Need that are remembered.
MOST_VICTIMS = 1_000
_BINDS = (ActionKind.BOOTSTRAP, ActionKind.PROVISION)


class Sighting(NamedTuple):
    """Thrash, seen once."""

    kind: ThrashKind
    at: Instant
    witness: tuple[TraceAction, ...]

    @property
    def last(self) -> TraceAction:
        """The action that made it a finding."""
        return self.witness[-1]


@dataclass(frozen=True, slots=True)
class ThrashLimits:
    window_seconds: float = 1800.0
    dwell_seconds: float = 600.0


@dataclass(slots=True)
class _Victim:
    """A machine that was preempted for a Need and has not come to it yet."""

    preempt: TraceAction
    #: The action by which a lower Need got it; None: none did.
    taken_by: TraceAction | None = None


DEFAULTS = ThrashLimits()


class Detector:
    def __init__(self, limits: ThrashLimits = DEFAULTS) -> None:
        self._limits = limits
        #: Reclaims, Preempts and Deletes that are under way, by machine.
        self._leaving: dict[str, TraceAction] = {}
        #: Newest moves of each machine, the machine that moved last at the end.
        self._moves: dict[str, tuple[TraceAction, ...]] = {}
        #: Completed Deletes by offering, oldest first.
        self._released: dict[str, deque[TraceAction]] = {}
        #: By the Need that preempts, then by machine.
        self._victims: dict[NeedKey, dict[str, _Victim]] = {}
        #: Which Need a machine was preempted for: all and only machines of `_victims`.
        self._victim_of: dict[str, NeedKey] = {}
        self._chains = Chains(limits.window_seconds)
        #: The last cycle in which a Need was found to repeat itself: told once a cycle.
        self._repeated: dict[NeedKey, int] = {}
        self._pruned_at: Instant = 0

    # -- events ----------------------------------------------------------------------------------

    def begin(self, action: TraceAction) -> list[Sighting]:
        """An action is carried out from now on; what that shows."""
        self._prune(action.at)
        self._leaving.pop(action.machine, None)
        if action.kind in _BINDS:
            return self._bind(action)
        self._leaving[action.machine] = action
        return self._preempt(action) if action.kind is ActionKind.PREEMPT else []

    def complete(self, machine: str, at: Instant) -> None:
        """The Reclaim, Preempt or Delete of a machine is seen to have done its work."""
        action = self._leaving.pop(machine, None)
        if action is None:
            return
        done = replace(action, done_at=at)
        if done.kind is ActionKind.DELETE:
            releases = self._released.setdefault(done.offering, deque(maxlen=MOST_RELEASES))
            releases.append(done)
        else:
            self._moved(done)

    def abandon(self, machine: str) -> None:
        """What was begun for a machine came to nothing."""
        self._leaving.pop(machine, None)
        self._drop_victim(machine)

    def forget(self, machine: str) -> None:
        """The machine is gone; one that comes back under its name is another one."""
        self.abandon(machine)
        self._moves.pop(machine, None)

    def served_last(self, machine: str) -> tuple[str, str]:
        """The (cluster, fingerprint) a machine left last within the window; empty: not known."""
        for action in reversed(self._moves.get(machine, ())):
            if action.done_at is not None:
                return _pair(action)
        return "", ""

    def follows(self, machine: str) -> bool:
        """Whether a change of the machine's state says something about what was told."""
        return machine in self._leaving or machine in self._moves or machine in self._victim_of

    def leaving(self) -> Collection[str]:
        """Machines whose Reclaim, Preempt or Delete is under way."""
        return self._leaving.keys()

    def waiting(self) -> Collection[NeedKey]:
        """Needs with victims that have not come to them: `settle` wants to know of these."""
        return self._victims.keys()

    def settle(self, need: NeedKey) -> None:
        """A Need lacks nothing any more, or is gone: a later deficit is another one."""
        for machine in self._victims.pop(need, {}):
            self._victim_of.pop(machine, None)
        self._repeated.pop(need, None)

    def sizes(self) -> dict[str, int]:
        return {
            "thrashLeaving": len(self._leaving),
            "thrashMoves": len(self._moves),
            "thrashReleases": sum(map(len, self._released.values())),
            "thrashVictims": len(self._victim_of),
            "thrashLosses": len(self._chains),
        }

    # -- machines that come back -----------------------------------------------------------------

    def _bind(self, action: TraceAction) -> list[Sighting]:
        self._take_victim(action)
        found = [self._return(action), self._ping_pong(action), self._rebuy(action)]
        self._moved(action)
        return [each for each in found if each is not None]

    def _moved(self, action: TraceAction) -> None:
        before = self._moves.pop(action.machine, ())
        if before and _is_again(before[-1], action):
            before = before[:-1]
        moves = (*before, action)[-MOVES_OF_A_MACHINE:]
        if len(self._moves) >= MOST_MACHINES:
            self._moves.pop(next(iter(self._moves)))
        self._moves[action.machine] = moves

    def _return(self, action: TraceAction) -> Sighting | None:
        dwell = self._limits.dwell_seconds * SECOND
        for move in reversed(self._moves.get(action.machine, ())):
            if _pair(move) != _pair(action):
                continue
            if move.done_at is None or action.at - move.done_at > dwell:
                return None
            if move.preemptor == action.holder:
                # It came to the Need it was preempted for, which is of the same profile.
                return None
            return Sighting(ThrashKind.RETURN, action.at, (move, action))
        return None

    def _ping_pong(self, action: TraceAction) -> Sighting | None:
        moves = self._moves.get(action.machine, ())
        if len(moves) < MOVES_OF_A_MACHINE:
            return None
        left_first, came, left_second = moves
        there_and_back = (
            left_first.done_at is not None
            and came.kind in _BINDS
            and left_second.done_at is not None
            and left_first.cluster == action.cluster
            and came.cluster == left_second.cluster != action.cluster
            and self._is_recent(left_first, action.at)
        )
        if not there_and_back:
            return None
        return Sighting(ThrashKind.PING_PONG, action.at, (*moves, action))

    def _rebuy(self, action: TraceAction) -> Sighting | None:
        releases = self._released.get(action.offering)
        if action.kind is not ActionKind.PROVISION or not releases:
            return None
        released = releases[-1]
        assert released.done_at is not None, "a release is remembered when it is complete"
        if action.at - released.done_at > released.hold_seconds * SECOND:
            return None
        # One machine that was bought again answers for one that was released.
        releases.pop()
        return Sighting(ThrashKind.REBUY, action.at, (released, action))

    # -- preemptions -----------------------------------------------------------------------------

    def _preempt(self, action: TraceAction) -> list[Sighting]:
        found = [self._repeat(action), self._extend_chain(action)]
        self._add_victim(action)
        return [each for each in found if each is not None]

    def _repeat(self, action: TraceAction) -> Sighting | None:
        need = action.preemptor
        if need is None or self._repeated.get(need) == action.cycle or action.deficit.is_zero():
            return None
        earlier = [
            victim
            for victim in self._victims.get(need, {}).values()
            if victim.preempt.cycle < action.cycle
            # A gang that has gone elsewhere lacks machines there, and can use no others.
            and victim.preempt.domain == action.domain
            and self._is_recent(victim.preempt, action.at)
        ]
        enough = _least_that_cover(action.deficit, earlier)
        if not enough:
            return None
        self._repeated[need] = action.cycle
        trace = [victim.preempt for victim in enough]
        trace += [victim.taken_by for victim in enough if victim.taken_by is not None]
        trace.sort(key=lambda each: (each.cycle, each.index))
        return Sighting(ThrashKind.REPEATED, action.at, (*trace, action))

    def _extend_chain(self, action: TraceAction) -> Sighting | None:
        found = [each for each in self._chains.extend(action) if len(each) > LONGEST_CHAIN]
        return Sighting(ThrashKind.CHAIN, action.at, found[-1]) if found else None

    def _add_victim(self, action: TraceAction) -> None:
        self._drop_victim(action.machine)
        if action.preemptor is None:
            return
        victims = self._victims.setdefault(action.preemptor, {})
        if len(victims) < MOST_VICTIMS:
            victims[action.machine] = _Victim(action)
            self._victim_of[action.machine] = action.preemptor

    def _take_victim(self, action: TraceAction) -> None:
        """A lower Need that takes a victim has stolen it: the deficit it was for is still open."""
        need = self._victim_of.get(action.machine)
        if need is None:
            return
        victim = self._victims[need][action.machine]
        if action.holder != need and action.priority < victim.preempt.priority:
            victim.taken_by = action
        else:
            self._drop_victim(action.machine)

    def _drop_victim(self, machine: str) -> None:
        need = self._victim_of.pop(machine, None)
        if need is None:
            return
        victims = self._victims[need]
        del victims[machine]
        if not victims:
            del self._victims[need]

    # -- what is too old -------------------------------------------------------------------------

    def _is_recent(self, action: TraceAction, at: Instant) -> bool:
        when = action.at if action.done_at is None else action.done_at
        return at - when <= self._limits.window_seconds * SECOND

    def _prune(self, at: Instant) -> None:
        """Looks at machines that moved long ago, and once a minute at the rest."""
        while self._moves:
            oldest = next(iter(self._moves))
            if self._is_recent(self._moves[oldest][-1], at):
                break
            del self._moves[oldest]
        if 0 <= at - self._pruned_at < 60 * SECOND:
            return
        self._pruned_at = at
        for offering, releases in list(self._released.items()):
            while releases and not self._is_recent(releases[0], at):
                releases.popleft()
            if not releases:
                del self._released[offering]
        for machine, need in list(self._victim_of.items()):
            if not self._is_recent(self._victims[need][machine].preempt, at):
                self._drop_victim(machine)
        self._repeated = {n: c for n, c in self._repeated.items() if n in self._victims}
        self._chains.prune(at)
        while len(self._victims) > MOST_NEEDS:
            self.settle(next(iter(self._victims)))


def _is_again(before: TraceAction, action: TraceAction) -> bool:
    """Whether a machine that did not come to its Need is bound to it once more."""
    return before.kind in _BINDS and action.kind in _BINDS and before.holder == action.holder


def _pair(action: TraceAction) -> tuple[str, str]:
    return action.cluster, action.fingerprint


def _least_that_cover(deficit: Resources, victims: list[_Victim]) -> list[_Victim]:
    """Few of them that together cover the deficit, none of which may be missing; empty: all of
    them do not."""
    left, chosen = deficit, list[_Victim]()
    by_size = sorted(victims, key=lambda each: _share(each.preempt.frees, deficit), reverse=True)
    for victim in by_size:
        if left.is_zero():
            break
        chosen.append(victim)
        left = left.less(victim.preempt.frees)
    # `less` keeps the dimensions of both: what was never asked for is zero there.
    if not left.is_zero():
        return []
    for victim in list(chosen):
        others = [each for each in chosen if each is not victim]
        if _covers(deficit, others):
            chosen = others
    return chosen


def _covers(deficit: Resources, victims: list[_Victim]) -> bool:
    left = deficit
    for victim in victims:
        left = left.less(victim.preempt.frees)
    return left.is_zero()


def _share(frees: Resources, deficit: Resources) -> float:
    """How much of a deficit a machine covers, over its dimensions."""
    wanted = [(name, amount) for name, amount in deficit.amounts if amount > 0]
    return sum(min(1.0, frees[name] / amount) for name, amount in wanted)
