"""The kill switch: every pause of every source, and whether one of them stops an action.

Sources are united: an action starts only when none of them covers it. Each source keeps its own in
force: the flag lasts as long as the process, the file as long as it lies there, the coordinator's
until it says otherwise; only those of the RPC are lifted by the RPC, and only they are persisted.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec

from bigfleet.model.actions import ActionKind
from bigfleet.model.instants import instant_text
from bigfleet.model.journal import JournalEvent
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import (
    EXPIRED,
    Pause,
    PauseScope,
    PauseSource,
    lifted_text,
    scope_text,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.reasons import Reason, duration_text
from bigfleet.shard.effects import PAUSES, Effects
from bigfleet.shard.rails.pause_files import file_pauses_of
from bigfleet.shard.settings import CurrentShardSettings

#: Lifted and expired pauses that are still listed on request.
REMEMBERED = 100
#: Of the RPC, at a time: more is a client gone wild.
MOST = 1000


@dataclass(frozen=True, slots=True)
class PauseRequest:
    owner: str
    reason: str
    scope: PauseScope = PauseScope()
    #: 0: the default.
    ttl_seconds: float = 0
    no_expiry: bool = False
    #: Chosen by the client so that it may ask again; empty: one is made.
    pause_id: str = ""
    created_by: str = ""


class Pauses:
    def __init__(
        self,
        effects: Effects,
        settings: CurrentShardSettings,
        new_id: Callable[[], str],
        at: Instant = 0,
    ) -> None:
        self._effects = effects
        self._shard_id = settings.now.id
        self._settings = settings
        self._new_id = new_id
        #: All and only pauses in force, by source and then by id.
        self._of_source: dict[PauseSource, dict[str, Pause]] = {s: {} for s in PauseSource}
        self._gone: deque[Pause] = deque(maxlen=REMEMBERED)
        #: The file as it was read last; None: there is none.
        self._file: tuple[str, Instant | None] | None = None
        self._answers: dict[tuple[ActionKind, str], Pause | None] = {}
        if settings.now.rails.actuation_paused:
            flag = Pause("flag", PauseSource.FLAG, PauseScope(), "flag", "--actuation-paused", at)
            self._put(flag)
        self._gauge()

    # -- asking ----------------------------------------------------------------------------------

    def why_suppressed(self, kind: ActionKind, cluster: str) -> Pause | None:
        """The pause that keeps such an action from starting, or None."""
        key = (kind, cluster)
        if key not in self._answers:
            covering = (p for p in self.active() if p.scope.covers(self._shard_id, cluster, kind))
            self._answers[key] = next(covering, None)
        return self._answers[key]

    def is_paused(self, kind: ActionKind, cluster: str) -> bool:
        return self.why_suppressed(kind, cluster) is not None

    def active(self) -> tuple[Pause, ...]:
        """By source, oldest first."""
        return tuple(
            pause
            for source in PauseSource
            for pause in sorted(
                self._of_source[source].values(), key=lambda p: (p.created_at, p.pause_id)
            )
        )

    def gone(self) -> tuple[Pause, ...]:
        """The last that expired or were lifted, oldest first."""
        return tuple(self._gone)

    # -- by RPC ----------------------------------------------------------------------------------

    def pause(self, asked: PauseRequest, at: Instant) -> Pause:
        """Raises Rejected. Asking again with the same id changes nothing."""
        made = self.planned(asked, at)
        self.begin(made)
        return made

    def planned(self, asked: PauseRequest, at: Instant) -> Pause:
        """The pause that would be in force, or is; raises Rejected."""
        if not (asked.owner and asked.reason):
            raise Rejected(
                Code.INVALID_ARGUMENT, "who pauses this, and why? owner and reason are needed"
            )
        known = self._named(asked.pause_id) if asked.pause_id else None
        # A pause of the whole fleet is told by the coordinator and directly, in any order.
        if known is not None and known.source is not PauseSource.COORDINATOR:
            if known.source is PauseSource.RPC and known.scope == asked.scope:
                return known
            raise Rejected(
                Code.ALREADY_EXISTS,
                f"pause {known.pause_id} is in force with another scope; choose another pause_id",
            )
        if len(self._of_source[PauseSource.RPC]) >= MOST:
            raise Rejected(Code.RESOURCE_EXHAUSTED, f"{MOST} pauses are in force; lift some first")
        return Pause(
            asked.pause_id or self._new_id(),
            PauseSource.RPC,
            asked.scope,
            asked.owner,
            asked.reason,
            at,
            self._expiry(asked, at),
            asked.created_by,
        )

    def begin(self, made: Pause) -> None:
        """In force from here on; one that is in force already stays as it is."""
        if self._of_source[made.source].get(made.pause_id) == made:
            return
        self._put(made)
        self._effects.persist(PAUSES, made.pause_id, row_of_pause(made))
        self._changed(made, "pause_set", f"paused {scope_text(made.scope)} {_until(made)}")

    def resume(
        self, pause_id: str, everything: bool, at: Instant, owner: str = "", reason: str = ""
    ) -> tuple[Pause, ...]:
        """What was lifted; a pause that is gone already is not an error."""
        lifted = self.to_lift(pause_id, everything)
        how = lifted_text(owner, reason)
        for pause in lifted:
            ended = self._drop(pause, at, how)
            said = f"resumed {scope_text(pause.scope)}"
            self._changed(ended, "pause_lifted", said, lifted_by=owner, why=reason)
        return lifted

    def to_lift(self, pause_id: str, everything: bool) -> tuple[Pause, ...]:
        """What `resume` would lift; raises Rejected."""
        if bool(pause_id) == everything:
            raise Rejected(
                Code.INVALID_ARGUMENT, "name one pause_id, or ask for all; not both, not neither"
            )
        known = self._named(pause_id) if pause_id else None
        if known is not None and known.source is not PauseSource.RPC:
            raise Rejected(Code.ABORTED, f"pause {pause_id} {_HOW_TO_LIFT[known.source]}")
        return tuple(
            pause
            for pause in self.active()
            if pause.source is PauseSource.RPC and (everything or pause.pause_id == pause_id)
        )

    # -- by the other sources --------------------------------------------------------------------

    def on_file(self, text: str | None, at: Instant, written: Instant | None = None) -> None:
        """The pause file as it is now; None: there is none. `written`: when it last changed."""
        seen = None if text is None else (text, written)
        if seen == self._file:
            return
        self._file = seen
        before = self._of_source[PauseSource.FILE]
        self._of_source[PauseSource.FILE] = {}
        if text is not None:
            self._read_file(text, min(written or at, at))
        after = self._of_source[PauseSource.FILE]
        for pause in before.values():
            if not _same(pause, after.get(pause.pause_id)):
                ended = self._end(pause, at, "the pause file no longer has it")
                said = f"the pause file no longer pauses {scope_text(pause.scope)}"
                self._changed(ended, "pause_lifted", said)
        for pause in after.values():
            if not _same(pause, before.get(pause.pause_id)):
                said = f"the pause file pauses {scope_text(pause.scope)} {_until(pause)}"
                self._changed(pause, "pause_set", said)
        self.tick(at)

    def on_coordinator(self, pauses: Iterable[Pause], at: Instant) -> None:
        """All pauses the coordinator has for this shard."""
        before = self._of_source[PauseSource.COORDINATOR]
        after = {
            pause.pause_id: replace(pause, source=PauseSource.COORDINATOR)
            for pause in pauses
            if not _expired(pause, at)
        }
        if before == after:
            return
        self._of_source[PauseSource.COORDINATOR] = after
        for pause in (p for p in before.values() if p.pause_id not in after):
            ended = self._end(pause, at, "the coordinator no longer has it")
            said = f"the coordinator resumed {scope_text(pause.scope)}"
            self._changed(ended, "pause_lifted", said)
        for pause in (p for p in after.values() if before.get(p.pause_id) != p):
            said = f"the coordinator pauses {scope_text(pause.scope)} {_until(pause)}"
            self._changed(pause, "pause_set", said)

    # -- time and restarts -----------------------------------------------------------------------

    def tick(self, at: Instant) -> None:
        for pause in self.active():
            if _expired(pause, at):
                ended = self._drop(pause, at, EXPIRED)
                self._changed(
                    ended, "pause_expired", f"the pause of {scope_text(pause.scope)} has expired"
                )

    def load(self, rows: Mapping[str, bytes], at: Instant) -> None:
        """Pauses of an earlier life. One that cannot be read still stops everything: something was
        to be stopped.
        """
        for pause_id, row in rows.items():
            try:
                pause = msgspec.json.decode(row, type=Pause)
            except msgspec.MsgspecError as problem:
                pause = self._unreadable(pause_id, str(problem), at)
            self._put(pause)
        self._gauge()
        self.tick(at)

    # -- within ----------------------------------------------------------------------------------

    def _read_file(self, text: str, since: Instant) -> None:
        settings = self._settings.now.rails
        read = file_pauses_of(text, since, settings.pause_default_ttl, settings.pause_max_ttl)
        for complaint in read.complaints:
            level = "error" if read.malformed else "warning"
            self._effects.log(level, "pause_file", complaint, subject=settings.pause_file)
        for pause in read.pauses:
            self._put(pause)

    def _unreadable(self, pause_id: str, problem: str, at: Instant) -> Pause:
        why = f"pause {pause_id} of an earlier start cannot be read ({problem}); it stops all"
        self._effects.log("error", "pause_unreadable", why, subject=pause_id)
        until = at + int(self._settings.now.rails.pause_default_ttl * SECOND)
        return Pause(pause_id, PauseSource.RPC, PauseScope(), "bigfleet", why, at, until)

    def _expiry(self, asked: PauseRequest, at: Instant) -> Instant | None:
        if asked.no_expiry:
            return None
        ttl, longest = asked.ttl_seconds, self._settings.now.rails.pause_max_ttl
        if ttl <= 0:
            ttl = self._settings.now.rails.pause_default_ttl
        elif ttl > longest:
            raise Rejected(
                Code.INVALID_ARGUMENT,
                f"a pause lasts at most {duration_text(longest)}; ask for less, or for no expiry",
            )
        return at + int(ttl * SECOND)

    def _named(self, pause_id: str) -> Pause | None:
        return next((p for p in self.active() if p.pause_id == pause_id), None)

    def _put(self, pause: Pause) -> None:
        self._of_source[pause.source][pause.pause_id] = pause

    def _drop(self, pause: Pause, at: Instant, how: str) -> Pause:
        del self._of_source[pause.source][pause.pause_id]
        if pause.source is PauseSource.RPC:
            self._effects.persist(PAUSES, pause.pause_id, None)
        return self._end(pause, at, how)

    def _end(self, pause: Pause, at: Instant, how: str) -> Pause:
        ended = replace(pause, ended_at=at, ended=how)
        self._gone.append(ended)
        return ended

    def _changed(self, pause: Pause, event: str, text: str, **facts: str) -> None:
        self._effects.log(
            "warning" if event == "pause_set" else "info",
            event,
            text,
            pause=pause.pause_id,
            source=pause.source.name.lower(),
            owner=pause.owner,
            reason=pause.reason,
            by=pause.created_by,
            **facts,
        )
        told = JournalEvent(event, pause.pause_id, text, peer=pause.created_by, pause=pause)
        self._effects.note(told)
        self._gauge()
        self._effects.wake()

    def _gauge(self) -> None:
        self._answers.clear()
        stopped = any(self._covers_everything(pause.scope) for pause in self.active())
        self._effects.counts.set("actuation_paused", int(stopped))
        for source, pauses in self._of_source.items():
            self._effects.counts.set("pauses_active", len(pauses), source=source.name.lower())

    def _covers_everything(self, scope: PauseScope) -> bool:
        """A scope that names only this shard covers it whole."""
        here = not scope.shard_ids or self._shard_id in scope.shard_ids
        return here and replace(scope, shard_ids=()).everything


def row_of_pause(pause: Pause) -> bytes:
    """As it is kept through a restart."""
    return msgspec.json.encode(pause)


@lru_cache(maxsize=256)
def why_paused(pause: Pause) -> Reason:
    """One for all actions it stops."""
    facts: dict[str, object] = {"pause": pause.pause_id, "source": pause.source.name.lower()}
    if pause.who:
        facts |= {"owner": pause.who, "why": pause.reason or "no reason given"}
    if pause.expires_at is not None:
        facts["until"] = instant_text(pause.expires_at)
    return Reason("rail.paused", facts)


_HOW_TO_LIFT = {
    PauseSource.FLAG: "is the flag --actuation-paused: restart the shard without it",
    PauseSource.FILE: "comes from the pause file: remove the file, or its entry",
    PauseSource.COORDINATOR: "is the coordinator's: resume it there",
}


def _expired(pause: Pause, at: Instant) -> bool:
    return pause.expires_at is not None and pause.expires_at <= at


def _until(pause: Pause) -> str:
    if pause.expires_at is None:
        return "until it is lifted"
    return f"until {instant_text(pause.expires_at)}"


def _same(one: Pause, other: Pause | None) -> bool:
    """Written again without a change of what it says; its times may begin anew."""
    return other is not None and replace(one, created_at=0) == replace(other, created_at=0)
