"""Reports as lines and objects, and what a watch finds in them."""

from dataclasses import replace

import orjson
import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView, Disposition, NeedCounts
from bigfleet.up.fleet_watch import FleetWatch, ShardWatch
from bigfleet.up.lines import document_of, line_of, transfer_document_of, transfer_line_of
from bigfleet.up.overdue_pods import OverduePod
from bigfleet.up.reports import ClusterReport, CycleReport, UnmetNeed, whole_of
from tests.up.shown import MOVE

NEED = NeedKey("shop", "p=1", "")
ASKED = frozenset({(NEED, Resources.of({"cpu": 1000}))})
MORE = frozenset({(NEED, Resources.of({"cpu": 2000}))})
CALM = CycleReport(
    cycle=20,
    at=0,
    seconds=0.004,
    actions=(),
    machines={MachineState.CONFIGURED: 96, MachineState.IDLE: 4},
    dollars_per_hour=3.12,
    clusters=(ClusterReport("shop", True, 60, 60, 12, 1, 1, ASKED),),
    unmet=(),
    need_states=NeedCounts(met=1),
)


def action(kind: ActionKind, machine: str = "bm-1") -> ActionView:
    return ActionView(20, 0, kind, machine, "shop", disposition=Disposition.ENQUEUED, reason="why")


def after(seconds: float, **changes: object) -> CycleReport:
    return replace(CALM, at=round(seconds * SECOND), **changes)  # type: ignore[arg-type]


def asking(demand: frozenset[tuple[NeedKey, Resources]]) -> tuple[ClusterReport, ...]:
    return (replace(CALM.clusters[0], demand=demand),)


def test_a_line_says_what_was_started_what_changed_and_what_it_costs() -> None:
    started = {ActionKind.PROVISION: 12, ActionKind.BOOTSTRAP: 41}
    line = line_of("14:00:21", CALM, started, {"shop": 60, "ml": 0})
    assert line.split("  ")[0] == "14:00:21"
    assert "cycle 20" in line
    assert "+41 Bootstrap +12 Provision" in line
    assert "shop +60 units" in line
    assert line.endswith("$3.12/h    pods: shop 60")


def test_a_line_without_change_says_whether_demand_is_met() -> None:
    assert "all demand met" in line_of("14:00:21", CALM, {}, {})
    for counts, said in (
        (NeedCounts(short=1), "1 short of 1 needs"),
        (NeedCounts(3, arriving=2), "2 arriving of 5 needs"),
        (NeedCounts(3, 2, 1, 4), "2 arriving, 1 blocked, 4 short of 10 needs"),
        (NeedCounts(), "no demand yet"),
    ):
        line = line_of("14:00:21", replace(CALM, need_states=counts), {}, {})
        assert said in line
        assert "all demand met" not in line


def test_a_line_does_not_say_that_all_is_met_while_pods_wait() -> None:
    waiting = replace(CALM, clusters=with_pods(running=50))
    line = line_of("14:00:21", waiting, {}, {})
    assert "machines there, 10 pods wait" in line
    assert "all demand met" not in line


def test_a_line_names_its_shard_where_there_are_several() -> None:
    assert line_of("14:00:21", CALM, {}, {}, "shard-2").startswith("14:00:21  shard-2  cycle 20")


def test_the_line_of_a_transfer_says_who_gives_what_to_whom_and_why() -> None:
    assert transfer_line_of("13:42:43", MOVE) == (
        "13:42:43  transfer 1-7    shard-1 -> shard-2  2 idle machines  "
        "granted: shard-2 is short of cpu 15"
    )


def test_a_single_machine_is_one_machine() -> None:
    assert "  1 idle machine  " in transfer_line_of("13:42:43", replace(MOVE, machine_ids=("m1",)))


def test_the_object_of_a_transfer_is_json_that_says_what_it_is() -> None:
    document = orjson.loads(orjson.dumps(transfer_document_of(MOVE)))
    assert document["kind"] == "transfer"
    assert (document["from"], document["to"]) == ("shard-1", "shard-2")
    assert document["machines"] == ["bm-1", "bm-2"]
    assert (document["tier"], document["state"]) == ("idle", "granted")
    assert document["reason"] == MOVE.reason


def test_several_shards_are_one_fleet() -> None:
    whole = whole_of([replace(CALM, shard="shard-0"), replace(CALM, shard="shard-1", cycle=31)])
    assert whole.machines[MachineState.CONFIGURED] == 192
    assert whole.dollars_per_hour == pytest.approx(6.24)
    assert (whole.cycle, len(whole.clusters)) == (31, 2)


def test_the_object_of_a_cycle_is_json_with_its_decisions_and_reasons() -> None:
    report = replace(CALM, actions=(action(ActionKind.BOOTSTRAP),))
    document = orjson.loads(orjson.dumps(document_of(report)))
    assert (document["kind"], document["cycle"]) == ("cycle", 20)
    assert document["started"] == {"Bootstrap": 1}
    assert document["actions"][0]["reason"] == "why"
    assert document["machines"]["Configured"] == 96
    assert document["clusters"]["shop"]["needsMet"] == 1
    assert document["needStates"] == {"met": 1, "arriving": 0, "blocked": 0, "short": 0}


def test_a_need_that_free_machines_would_serve_may_be_short_for_a_minute() -> None:
    watch = ShardWatch()
    short = (UnmetNeed(NEED, "PRIORITY_STARVED", 3, free=2),)
    watch.on_report(after(0, unmet=short))
    watch.on_report(after(60, unmet=short))
    assert watch.findings == []
    watch.on_report(after(61, unmet=short))
    watch.on_report(after(62, unmet=short))
    assert len(watch.findings) == 1


def test_a_need_that_nothing_free_would_serve_is_not_a_finding() -> None:
    watch = ShardWatch()
    for seconds in (0, 100):
        watch.on_report(after(seconds, unmet=(UnmetNeed(NEED, "", 3, free=0),)))
    assert watch.findings == []


OVERDUE = OverduePod("default/search-7", 3, 121.0, "0/9 nodes are available: 9 Too many pods.")


def with_pods(**changes: object) -> tuple[ClusterReport, ...]:
    return (replace(CALM.clusters[0], **changes),)  # type: ignore[arg-type]


def test_a_line_says_how_many_pods_run_and_are_stuck() -> None:
    some = replace(CALM, clusters=with_pods(pods=60, running=50, stuck=4))
    assert line_of("14:00:21", some, {}, {}).endswith("pods: shop 50/60 (4 stuck)")
    none = replace(CALM, clusters=with_pods(pods=0, running=0))
    assert line_of("14:00:21", none, {}, {}).endswith("no pods yet")


def test_the_object_of_a_cycle_says_which_pods_run_wait_and_are_stuck() -> None:
    report = replace(CALM, clusters=with_pods(running=50, stuck=4, overdue=(OVERDUE,)))
    shop = orjson.loads(orjson.dumps(document_of(report)))["clusters"]["shop"]
    assert (shop["pods"], shop["running"], shop["waiting"], shop["stuck"]) == (60, 50, 10, 4)
    assert shop["overdue"] == [
        {
            "pod": "default/search-7",
            "pods": 3,
            "seconds": 121.0,
            "verdict": "0/9 nodes are available: 9 Too many pods.",
            "machine": "",
        }
    ]


def test_a_pod_that_waits_although_a_free_machine_would_take_it_is_found_once() -> None:
    watch = ShardWatch()
    stuck = replace(OVERDUE, machine="od-0012")
    watch.on_report(after(0, clusters=with_pods(overdue=(stuck,))))
    watch.on_report(after(1, clusters=with_pods(overdue=(stuck,))))
    assert watch.findings == [
        "cycle 20: pod default/search-7 of shop (and 2 like it) has been waiting for 121 s "
        "although od-0012 is free and would take it; its scheduler says: "
        "0/9 nodes are available: 9 Too many pods."
    ]


def test_a_pod_that_no_machine_can_take_waits_and_is_not_a_finding() -> None:
    watch = ShardWatch()
    watch.on_report(after(0, clusters=with_pods(overdue=(OVERDUE,))))
    assert watch.findings == []


BLOCKED = UnmetNeed(
    NEED, "rail.breaker", 0, 0, NeedState.BLOCKED, "provider sim does not answer", "wait"
)


def test_a_need_may_be_blocked_for_a_minute_and_no_longer() -> None:
    watch = ShardWatch()
    for seconds in (0, 60):
        watch.on_report(after(seconds, unmet=(BLOCKED,)))
    assert watch.findings == []
    watch.on_report(after(61, unmet=(BLOCKED,)))
    [finding] = watch.findings
    assert "although supply is there: provider sim" in finding


def test_a_need_with_stuck_pods_is_judged_by_its_pods() -> None:
    watch = ShardWatch()
    for seconds in (0, 100):
        stuck = replace(BLOCKED, reason="pods.stuck", text="refused", stuck_pods=2)
        watch.on_report(after(seconds, unmet=(stuck,)))
    assert watch.findings == []


def test_what_a_provider_has_run_out_of_is_not_a_finding() -> None:
    watch = ShardWatch()
    for seconds in (0, 100):
        for code in ("supply.backoff", "supply.quota"):
            watch.on_report(after(seconds, unmet=(replace(BLOCKED, reason=code),)))
    assert watch.findings == []


def test_a_machine_that_comes_back_without_any_change_of_demand_is_found() -> None:
    watch = ShardWatch()
    watch.on_report(after(0))
    watch.on_report(after(5, actions=(action(ActionKind.RECLAIM),)))
    watch.on_report(after(9, actions=(action(ActionKind.BOOTSTRAP),)))
    assert len(watch.findings) == 1


def test_a_machine_that_comes_back_because_demand_did_is_not_a_finding() -> None:
    watch = ShardWatch()
    watch.on_report(after(0))
    watch.on_report(after(5, actions=(action(ActionKind.RECLAIM),)))
    back = (action(ActionKind.BOOTSTRAP),)
    watch.on_report(after(9, actions=back, clusters=asking(MORE)))
    assert watch.findings == []


def test_every_shard_is_judged_by_itself() -> None:
    """What one cluster is asked for again is not news of another shard's demand."""
    watch = FleetWatch()
    watch.on_report(after(0, shard="shard-0"))
    watch.on_report(after(5, shard="shard-0", actions=(action(ActionKind.RECLAIM),)))
    watch.on_report(after(7, shard="shard-1", clusters=asking(MORE)))
    watch.on_report(after(9, shard="shard-0", actions=(action(ActionKind.BOOTSTRAP),)))
    [found] = watch.findings
    assert found.startswith("shard-0, cycle 20: bm-1 was reclaimed")


def test_a_machine_that_comes_back_because_others_have_moved_is_not_a_finding() -> None:
    watch = FleetWatch()
    watch.on_report(after(0, shard="shard-1"))
    watch.on_report(after(5, shard="shard-1", actions=(action(ActionKind.RECLAIM),)))
    watch.on_move(replace(MOVE, updated_at=7 * SECOND))
    watch.on_report(after(9, shard="shard-1", actions=(action(ActionKind.BOOTSTRAP),)))
    assert watch.findings == []
