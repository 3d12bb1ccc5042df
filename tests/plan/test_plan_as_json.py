"""The JSON object of a plan: its keys, its order, its quantities and its dollars."""

from typing import Any

from bigfleet.plan.document import plan_document
from tests.plan.fleets import cycles_of

RACK = "topology.bigfleet/rack"


def document_of(body: str, *, explain: bool = False) -> dict[str, Any]:
    return plan_document(cycles_of(body), explain=explain)


SHOP = """
machines:
  - {id: bm-1, state: Idle, capacityType: BareMetal, resources: {cpu: 8, memory: 32Gi}}
  - {id: "od-{00}", count: 2, state: Speculative, capacityType: OnDemand, pricePerHour: 0.38,
     resources: {cpu: 8, memory: 32Gi}}
  - {id: c-1, state: Configured, cluster: batch, capacityType: Spot, pricePerHour: 0.10,
     instanceType: odd, resources: {cpu: 8, memory: 32Gi}, assigned: {priority: 100}}
  - {id: coming, state: Creating, capacityType: Spot, pricePerHour: 0.25}
needs:
  - {cluster: shop, priority: 5, aggregateResources: {cpu: 40, memory: 64Gi},
     minUnit: {cpu: 500m},
     requirements: [{key: node.kubernetes.io/instance-type, operator: DoesNotExist}]}
"""


def test_an_action_says_what_it_does_to_which_machine_for_which_need() -> None:
    document = document_of(SHOP)
    assert document["actions"][0] == {
        "kind": "Bootstrap",
        "machine": "bm-1",
        "cluster": "shop",
        "graceSeconds": 0,
        "preemptorPriority": 0,
        "reason": "phase1.idle",
        "need": 0,
    }
    assert document["actions"][-1] == {
        "kind": "Reclaim",
        "machine": "c-1",
        "cluster": "batch",
        "graceSeconds": 600,
        "preemptorPriority": 0,
        "reason": "phase3.excess",
        "need": None,
    }


def test_a_need_says_what_it_has_and_what_it_is_short_of() -> None:
    (need,) = document_of(SHOP)["needs"]
    identity = cycles_of(SHOP)[0].fleet.needs[0].need.key.need_id
    assert need == {
        "index": 0,
        "id": identity,
        "satisfied": False,
        "deficit": {"cpu": "16"},
        "unresolved": {"cpu": "16"},
        "claimed": ["bm-1", "od-00", "od-01"],
        "bootstraps": 1,
        "provisions": 2,
        "preempts": 0,
        "domain": None,
        "parked": False,
        "unmetReason": "PRIORITY_STARVED",
        "folded": False,
    }


def test_the_bill_counts_hosts_and_creating_machines_before_and_after() -> None:
    document = document_of(SHOP)
    assert document["summary"] == {
        "cycleSeconds": 0.0,
        "machines": 5,
        "needs": 1,
        "byKind": {"Bootstrap": 1, "Provision": 2, "Reclaim": 1, "Preempt": 0, "Delete": 0},
        "capped": 0,
        "deferred": 0,
        "hourlyCostBefore": 0.35,
        "hourlyCostAfter": 1.11,
    }
    assert list(document) == ["actions", "needs", "summary"]


def test_a_deleted_machine_leaves_the_bill() -> None:
    summary = document_of(
        "machines: [{id: m, state: Idle, capacityType: Spot, pricePerHour: 2,"
        ' idleSince: "2025-01-01T00:00:00Z"}]\noptions: {now: "2026-01-01T00:00:00Z"}'
    )["summary"]
    assert (summary["hourlyCostBefore"], summary["hourlyCostAfter"]) == (2.0, 0.0)


def test_needs_of_all_priorities_come_in_file_order() -> None:
    document = document_of(
        """
machines: [{id: "m{0}", count: 2, state: Idle, capacityType: BareMetal, resources: {cpu: 8}}]
needs:
  - {cluster: b, priority: 1, aggregateResources: {cpu: 8}}
  - {cluster: z, priority: 9, aggregateResources: {cpu: 8}}
  - {cluster: a, priority: 5, aggregateResources: {cpu: 8}}
"""
    )
    assert [(need["index"], need["satisfied"]) for need in document["needs"]] == [
        (0, False),
        (1, True),
        (2, True),
    ]
    assert [action["need"] for action in document["actions"]] == [1, 2]


FOLDED = f"""
machines: [{{id: m, state: Idle, capacityType: BareMetal, resources: {{cpu: 16}},
            labels: {{{RACK}: r}}}}]
needs:
  - {{cluster: x, priority: 9, aggregateResources: {{cpu: 1}}, minUnit: {{cpu: 99}}}}
  - {{cluster: c, priority: 1, group: g1, arrival: 200, aggregateResources: {{cpu: 4}},
     minUnit: {{cpu: 2}}, requirements: [{{key: {RACK}, operator: Same}}]}}
  - {{cluster: c, priority: 1, group: g2, arrival: 100, aggregateResources: {{cpu: 4}},
     minUnit: {{cpu: 2}}, requirements: [{{key: {RACK}, operator: Same}}]}}
"""


def test_every_member_of_a_folded_group_reports_the_groups_verdict() -> None:
    document = document_of(FOLDED)
    _, first, second = document["needs"]
    assert first["folded"]
    assert second["folded"]
    assert first["claimed"] == second["claimed"] == ["m"]
    assert first["id"] != second["id"]
    assert document["actions"][0]["need"] == 1


def test_cycles_are_listed_only_where_there_are_several() -> None:
    assert "cycles" not in document_of(SHOP)
    document = document_of(SHOP + "options: {cycles: 3}")
    assert [cycle["cycle"] for cycle in document["cycles"]] == [1, 2, 3]
    assert document["cycles"][0] == {
        "cycle": 1,
        "actions": document["actions"],
        "needs": document["needs"],
    }
    assert [len(cycle["actions"]) for cycle in document["cycles"]] == [4, 0, 0]


def test_explain_adds_reasons_to_every_action_and_need() -> None:
    document = document_of(SHOP, explain=True)
    for entry in [*document["actions"], *document["needs"]]:
        assert entry["reasons"], entry
        for reason in entry["reasons"]:
            assert set(reason) == {"code", "tier", "text", "facts", "refs", "cycle"}
            assert reason["cycle"] == "1"
    assert "reasons" not in document_of(SHOP)["actions"][0]


def test_a_dumped_cycle_gives_its_name_to_the_reasons() -> None:
    document = document_of(SHOP + 'provenance: {cycle: "3:18231"}', explain=True)
    assert document["actions"][0]["reasons"][0]["cycle"] == "3:18231"
