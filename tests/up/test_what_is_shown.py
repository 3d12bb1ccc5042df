"""Reports as lines and objects, and what a watch finds in them."""

from dataclasses import replace

import orjson

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.up.lines import document_of, line_of
from bigfleet.up.reports import ClusterReport, CycleReport, UnmetNeed
from bigfleet.up.watching import Watch

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
    assert line.endswith("$3.12/h")


def test_a_line_without_change_says_whether_demand_is_met() -> None:
    assert "all demand met" in line_of("14:00:21", CALM, {}, {})
    short = replace(CALM, unmet=(UnmetNeed(NEED, "PRIORITY_STARVED", 3, 0),))
    assert "1 of 1 needs unmet" in line_of("14:00:21", short, {}, {})


def test_the_object_of_a_cycle_is_json_with_its_decisions_and_reasons() -> None:
    report = replace(CALM, actions=(action(ActionKind.BOOTSTRAP),))
    document = orjson.loads(orjson.dumps(document_of(report)))
    assert document["cycle"] == 20
    assert document["started"] == {"Bootstrap": 1}
    assert document["actions"][0]["reason"] == "why"
    assert document["machines"]["Configured"] == 96
    assert document["clusters"]["shop"]["needsMet"] == 1


def test_a_need_that_free_machines_would_serve_may_be_short_for_a_minute() -> None:
    watch = Watch()
    short = (UnmetNeed(NEED, "PRIORITY_STARVED", 3, free=2),)
    watch.on_report(after(0, unmet=short))
    watch.on_report(after(60, unmet=short))
    assert watch.findings == []
    watch.on_report(after(61, unmet=short))
    watch.on_report(after(62, unmet=short))
    assert len(watch.findings) == 1


def test_a_need_that_nothing_free_would_serve_is_no_finding() -> None:
    watch = Watch()
    for seconds in (0, 100):
        watch.on_report(after(seconds, unmet=(UnmetNeed(NEED, "", 3, free=0),)))
    assert watch.findings == []


def test_a_machine_that_comes_back_without_any_change_of_demand_is_found() -> None:
    watch = Watch()
    watch.on_report(after(0))
    watch.on_report(after(5, actions=(action(ActionKind.RECLAIM),)))
    watch.on_report(after(9, actions=(action(ActionKind.BOOTSTRAP),)))
    assert len(watch.findings) == 1


def test_a_machine_that_comes_back_because_demand_did_is_no_finding() -> None:
    watch = Watch()
    watch.on_report(after(0))
    watch.on_report(after(5, actions=(action(ActionKind.RECLAIM),)))
    back = (action(ActionKind.BOOTSTRAP),)
    watch.on_report(after(9, actions=back, clusters=asking(MORE)))
    assert watch.findings == []
