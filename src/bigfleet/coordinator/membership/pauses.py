"""The kill switch of the fleet: what is paused where, who says so, and until when.

A pause reaches a shard with its next sync and is kept there when the coordinator is gone. One that
is for rebalancing alone is not sent to shards: it is obeyed here.
"""

from collections.abc import Callable
from dataclasses import replace

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership.checks import require, require_shard
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import EXPIRED, Pause, PauseScope, PauseSource, lifted_text
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.reasons import duration_text
from bigfleet.model.shard_admin import PauseCall, Paused, PauseList, ResumeCall, Resumed
from bigfleet.model.syntax import who_text

#: As at a shard: long enough for an incident, short enough not to be forgotten.
DEFAULT_SECONDS = 4 * 3600.0
LONGEST_SECONDS = 7 * 24 * 3600.0
#: At a time: more is a client gone wild.
MOST = 1000


# -- asking --------------------------------------------------------------------------------------


def pauses(book: Book, include_expired: bool, at: Instant) -> PauseList:
    """In force, oldest first; before them those that are over, if they are asked for."""
    past = tuple(book.past_pauses) if include_expired else ()
    gone = {pause.pause_id for pause in past}
    late = [_over(p) for p in _rows(book) if not _is_on(p, at)] if include_expired else []
    over = (*past, *(pause for pause in late if pause.pause_id not in gone))
    return PauseList((*over, *_in_force(book, at)), dry_run=False)


def pauses_for(book: Book, shard: str, at: Instant) -> tuple[Pause, ...]:
    """What a shard must obey."""
    return tuple(
        replace(pause, source=PauseSource.COORDINATOR)
        for pause in _in_force(book, at)
        if not pause.scope.rebalance_only and _is_about(pause.scope, shard)
    )


def rebalance_paused(book: Book, at: Instant) -> bool:
    """Whether nothing may be moved anywhere."""
    return any(_covers_shards(pause.scope, "") for pause in _in_force(book, at))


def is_paused(book: Book, shard: str, at: Instant) -> bool:
    """Whether a pause covers everything on the shard, or all rebalancing with it."""
    return any(_covers_shards(pause.scope, shard) for pause in _in_force(book, at))


# -- setting and lifting -------------------------------------------------------------------------


def pause(
    book: Book, draft: Draft, call: PauseCall, created_by: str, new_id: Callable[[], str]
) -> Paused:
    """Raises Rejected. Asking again with the same id changes nothing."""
    require(owner=call.audit.owner, reason=call.audit.reason)
    for shard in call.scope.shard_ids:
        require_shard(draft, shard)
    known = draft.pauses.get(call.pause_id) if call.pause_id else None
    if known is not None and _is_on(known, draft.at):
        if known.scope != call.scope:
            text = f"pause {known.pause_id} is in force with another scope; choose another pause_id"
            raise Rejected(Code.ALREADY_EXISTS, text)
        return Paused(known, _active(draft))
    if len(_active(draft)) >= MOST:
        raise Rejected(Code.RESOURCE_EXHAUSTED, f"{MOST} pauses are in force; lift some first")
    made = draft.pauses.put(
        Pause(
            call.pause_id or new_id(),
            PauseSource.RPC,
            call.scope,
            call.audit.owner,
            call.audit.reason,
            draft.at,
            _expiry(call, draft.at),
            created_by,
        )
    )
    said = f"{made.who} paused {_text(made.scope)} {_until(made)}: {made.reason}"
    draft.note("pause_set", made.pause_id, said, created_by)
    return Paused(made, _active(draft))


def resume(book: Book, draft: Draft, call: ResumeCall, lifted_by: str = "") -> Resumed:
    """What was lifted; a pause that is gone already is not an error."""
    require(owner=call.audit.owner, reason=call.audit.reason)
    if bool(call.pause_id) == call.everything:
        text = "name one pause_id, or ask for all; not both, not neither"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    lifted = tuple(
        pause for pause in _active(draft) if call.everything or pause.pause_id == call.pause_id
    )
    who = who_text(call.audit.owner, lifted_by)
    for each in lifted:
        _end(book, draft, each, lifted_text(who, call.audit.reason))
        said = f"{who} resumed {_text(each.scope)}: {call.audit.reason}"
        draft.note("pause_lifted", each.pause_id, said, lifted_by)
    return Resumed(lifted, _active(draft))


def expire(book: Book, draft: Draft, most: int) -> None:
    """At most so many at once; the others are over all the same."""
    for each in [row for row in draft.pauses.values() if not _is_on(row, draft.at)][:most]:
        _end(book, draft, each, EXPIRED)
        draft.note("pause_expired", each.pause_id, f"the pause of {_text(each.scope)} has expired")


# -- within --------------------------------------------------------------------------------------


def _over(pause: Pause) -> Pause:
    """Its time is over, and nothing has swept it yet."""
    return replace(pause, ended_at=pause.expires_at, ended=EXPIRED)


def _end(book: Book, draft: Draft, pause: Pause, how: str) -> None:
    draft.pauses.delete(pause.pause_id)
    name = pause.pause_id, pause.created_at
    if name not in {(past.pause_id, past.created_at) for past in book.past_pauses}:
        book.past_pauses.append(replace(pause, ended_at=draft.at, ended=how))


def _rows(book: Book) -> list[Pause]:
    return sorted(book.tables.pauses.rows.values(), key=lambda p: (p.created_at, p.pause_id))


def _in_force(book: Book, at: Instant) -> list[Pause]:
    return [pause for pause in _rows(book) if _is_on(pause, at)]


def _active(draft: Draft) -> tuple[Pause, ...]:
    rows = (row for row in draft.pauses.values() if _is_on(row, draft.at))
    return tuple(sorted(rows, key=lambda p: (p.created_at, p.pause_id)))


def _is_on(pause: Pause, at: Instant) -> bool:
    return pause.expires_at is None or pause.expires_at > at


def _is_about(scope: PauseScope, shard: str) -> bool:
    return not scope.shard_ids or shard in scope.shard_ids


def _covers_shards(scope: PauseScope, shard: str) -> bool:
    """Whole shards, not some of their clusters or actions. An empty name: all of them."""
    return _is_about(scope, shard) and not (scope.cluster_ids or scope.kinds)


def _expiry(call: PauseCall, at: Instant) -> Instant | None:
    if call.no_expiry:
        return None
    if call.ttl_seconds > LONGEST_SECONDS:
        raise Rejected(
            Code.INVALID_ARGUMENT,
            f"ttl_seconds {call.ttl_seconds}: a pause lasts at most"
            f" {duration_text(LONGEST_SECONDS)}; ask for less, or for no expiry",
        )
    seconds = call.ttl_seconds if call.ttl_seconds > 0 else DEFAULT_SECONDS
    return at + round(seconds * SECOND)


def _until(pause: Pause) -> str:
    if pause.expires_at is None:
        return "until it is lifted"
    return f"until {instant_text(pause.expires_at)}"


def _text(scope: PauseScope) -> str:
    what = "rebalancing" if scope.rebalance_only else "every action"
    if scope.kinds:
        what = " and ".join(kind.label for kind in scope.kinds)
    if scope.cluster_ids:
        what += f" of cluster {' and '.join(scope.cluster_ids)}"
    where = f"on {' and '.join(scope.shard_ids)}" if scope.shard_ids else "in the whole fleet"
    return f"{what} {where}"
