"""What the RPC set is still set after a restart; what cannot be read stops everything."""

from bigfleet.model.actions import ActionKind as K
from bigfleet.model.pauses import PauseScope
from bigfleet.shard.effects import PAUSES, Effects
from bigfleet.shard.instructions import Persist
from tests.pauses.switches import HOUR, START, asked, logged, shard, switch


def rows_of(effects: Effects) -> dict[str, bytes]:
    rows: dict[str, bytes] = {}
    for row in effects.taken():
        if isinstance(row, Persist) and row.table == PAUSES:
            rows.pop(row.key, None)
            if row.value is not None:
                rows[row.key] = row.value
    return rows


def test_pauses_come_back_as_they_were() -> None:
    parts = shard()
    effects, before = parts.effects, parts.pauses
    scope = PauseScope(cluster_ids=("shop",), kinds=(K.RECLAIM, K.PREEMPT))
    before.pause(asked(scope=scope, created_by="bigfleet://admin"), START)
    before.pause(asked(no_expiry=True), START)
    lifted = before.pause(asked(), START)
    before.resume(lifted.pause_id, False, START)
    after = switch()
    after.load(rows_of(effects), START + HOUR)
    assert after.active() == before.active()
    assert after.why_suppressed(K.RECLAIM, "shop") is not None


def test_a_pause_that_expired_meanwhile_does_not_come_back() -> None:
    parts = shard()
    parts.pauses.pause(asked(ttl_seconds=60), START)
    after = switch()
    after.load(rows_of(parts.effects), START + HOUR)
    assert after.active() == ()


def test_a_row_that_cannot_be_read_stops_everything_until_lifted() -> None:
    parts = shard()
    effects, pauses = parts.effects, parts.pauses
    pauses.load({"p-9": b"{nonsense"}, START)
    assert all(pauses.why_suppressed(kind, "shop") for kind in K)
    assert [event for event, _ in logged(effects)] == ["pause_unreadable"]
    pauses.resume("p-9", False, START)
    assert pauses.active() == ()
