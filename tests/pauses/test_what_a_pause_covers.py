"""A scope is AND between its fields and OR inside one; all sources count."""

import pytest

from bigfleet.model.actions import ActionKind as K
from bigfleet.model.pauses import Pause, PauseScope, PauseSource, scope_text
from bigfleet.shard.settings import RailSettings
from tests.pauses.switches import START, asked, shard, switch

ALL = [(kind, cluster) for kind in K for cluster in ("shop", "web")]


@pytest.mark.parametrize(
    ("scope", "stopped"),
    [
        (PauseScope(), ALL),
        (PauseScope(shard_ids=("shard-0", "shard-1")), ALL),
        (PauseScope(shard_ids=("shard-1",)), []),
        (PauseScope(cluster_ids=("shop",)), [(k, "shop") for k in K]),
        (
            PauseScope(kinds=(K.RECLAIM, K.PREEMPT)),
            [p for p in ALL if p[0] in (K.RECLAIM, K.PREEMPT)],
        ),
        (PauseScope(cluster_ids=("web",), kinds=(K.DELETE,)), [(K.DELETE, "web")]),
        (PauseScope(rebalance_only=True), []),
    ],
    ids=[
        "everything",
        "this shard",
        "another shard",
        "a cluster",
        "two kinds",
        "both",
        "rebalance",
    ],
)
def test_a_scope_stops(scope: PauseScope, stopped: list[tuple[K, str]]) -> None:
    pauses = switch()
    pauses.pause(asked(scope=scope), START)
    assert [pair for pair in ALL if pauses.why_suppressed(*pair)] == stopped


def test_the_flag_stops_everything_for_as_long_as_the_process_lives() -> None:
    pauses = switch(RailSettings(actuation_paused=True))
    pauses.tick(START * 2)
    stopping = pauses.why_suppressed(K.BOOTSTRAP, "shop")
    assert stopping is not None
    assert (stopping.source, stopping.expires_at) == (PauseSource.FLAG, None)


def test_an_action_starts_only_when_no_source_covers_it() -> None:
    pauses = switch()
    pauses.on_file("", START)
    pauses.pause(asked(pause_id="mine"), START)
    pauses.on_coordinator([Pause("fleet", PauseSource.COORDINATOR)], START)
    stopped_by = []
    for lift in (
        lambda: pauses.on_file(None, START),
        lambda: pauses.resume("mine", False, START),
        lambda: pauses.on_coordinator([], START),
    ):
        stopping = pauses.why_suppressed(K.DELETE, "")
        stopped_by.append(stopping.source if stopping else None)
        lift()
    assert stopped_by == [PauseSource.FILE, PauseSource.RPC, PauseSource.COORDINATOR]
    assert pauses.why_suppressed(K.DELETE, "") is None


def test_the_gauges_show_whether_everything_stands_and_how_many_by_source() -> None:
    parts = shard()
    effects, pauses = parts.effects, parts.pauses
    of = effects.counts.of
    assert (of("actuation_paused"), of("pauses_active", source="rpc")) == (0, 0)
    pauses.pause(asked(scope=PauseScope(kinds=(K.RECLAIM,))), START)
    assert (of("actuation_paused"), of("pauses_active", source="rpc")) == (0, 1)
    pauses.pause(asked(scope=PauseScope(shard_ids=("shard-0",))), START)
    assert (of("actuation_paused"), of("pauses_active", source="rpc")) == (1, 2)
    pauses.resume("", True, START)
    assert (of("actuation_paused"), of("pauses_active", source="rpc")) == (0, 0)


def test_a_scope_reads_as_a_sentence() -> None:
    assert scope_text(PauseScope()) == "everything"
    narrow = PauseScope(("shard-0",), ("shop", "web"), (K.RECLAIM,))
    assert scope_text(narrow) == "Reclaim of cluster shop and web on shard-0"
