"""The 14 routes of the older dashboard: shapes, defaults, clamping, errors, under both mounts."""

from typing import Any

import httpx2
import pytest

from bigfleet.web import schemas
from tests.rest.living_fleet import PATIENCE_SECONDS, LivingFleet

ROUTES = {
    "/health": schemas.Health,
    "/config": schemas.Config,
    "/fleet/overview": schemas.Overview,
    "/fleet/actions": schemas.Actions,
    "/shards": schemas.Shards,
    "/shards/shard-0": schemas.ShardDetail,
    "/shards/shard-0/trends": schemas.Trends,
    "/clusters": schemas.Clusters,
    "/clusters/shop": schemas.ClusterDetail,
    "/available-capacity": schemas.AvailableCapacity,
    "/topology": schemas.Topology,
    "/shard-reports": schemas.ShardReports,
    "/needs?shard=shard-0": schemas.Needs,
    "/finops/snapshot": schemas.Finops,
}
#: Named exactly as the older dashboard reads them.
KEYS = {
    "/config": {"grafanaUrl", "prometheusWired", "coordinatorWired", "kubeconfigWired"},
    "/fleet/overview": {
        *("shards", "clusters", "machines", "machinesByState", "shortfalls"),
        *("cycleP99Seconds", "queriedAt"),
    },
    "/fleet/actions": {"timestamps", "kinds", "values"},
    "/shards": {"shards", "queriedAt"},
    "/shards/shard-0": {
        *("pod", "cycleP99Seconds", "cycleP99ByPhaseSeconds", "machines", "machinesByState"),
        *("machinesByCapacityType", "shortfalls", "activeSessions", "actionsByKindRatePerSec"),
        *("occCommittedPerSec", "occConflictPerSec", "queriedAt"),
    },
    "/shards/shard-0/trends": {
        *("pod", "timestamps", "cycleP99Seconds", "actionRates", "queriedAt"),
    },
    "/clusters/shop": {
        *("id", "capacityRequestsTotal", "capacityRequestsByPhase", "upcomingNodesTotal"),
        *("upcomingNodesByPhase", "queriedAt"),
    },
    "/topology": {"coordinator", "shards", "domainAssignments", "queriedAt"},
    "/needs?shard=shard-0": {
        *("shardId", "cycle", "computedAtUnixNanos", "totalNeeds", "needs", "queriedAt"),
    },
    "/finops/snapshot": {
        *("totals", "capacityTypes", "buckets", "configuredByCapacityType", "configured"),
        *("idleByCapacityType", "configuredByBucket", "demand", "actionRatesPerSec"),
        *("redFlags", "queriedAt"),
    },
}
NEED_KEYS = {
    *("clusterId", "priority", "aggregateResources", "interruptionPenaltyBucket", "satisfied"),
    *("reclamationPenaltyBucket", "claimedMachineCount", "bootstrapCount", "provisionCount"),
    *("sameSatisfiable", "acquisitionParked", "ageCyclesUnmet", "unmetReason", "needId", "reasons"),
}


@pytest.mark.parametrize("mount", ["/api", "/api/v1"])
@pytest.mark.parametrize("route", ROUTES)
def test_a_compatible_route_has_its_shape_under_both_mounts(
    fleet: LivingFleet, mount: str, route: str
) -> None:
    answer = httpx2.get(f"{fleet.url}{mount}{route}", timeout=PATIENCE_SECONDS)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert schemas.problems_in(document, ROUTES[route]) == ""
    assert KEYS.get(route, set()) <= document.keys()
    assert "NaN" not in answer.text
    assert "Infinity" not in answer.text


def test_the_overview_counts_the_fleet(fleet: LivingFleet) -> None:
    found = fleet.get("/fleet/overview")
    assert found["shards"] == 1
    assert found["clusters"] == 3
    assert found["machines"] == fleet.local.machines == sum(found["machinesByState"].values())
    assert sum(found["needs"].values()) > 0
    assert found["cycleP99Seconds"] > 0
    assert found["shardsDown"] == []
    assert found["machinesByState"]["Configured"] > 0


def test_pods_are_counted_by_cluster_and_for_the_fleet(fleet: LivingFleet) -> None:
    now = fleet.get("/fleet/overview")["pods"]
    assert now["unreportedClusters"] == 0
    assert set(now["byCluster"]) == {"shop", "ml", "batch"}
    assert now["running"] == sum(each["running"] for each in now["byCluster"].values()) > 0
    line = fleet.get("/clusters/shop")["cluster"]
    assert line["pods"]["running"] > 0
    assert line["pods"]["stuck"] <= line["pods"]["waiting"]


def test_a_report_is_told_without_the_names_of_its_machines(fleet: LivingFleet) -> None:
    report = fleet.get("/clusters/shop")["cluster"]["session"]["report"]
    assert not report.keys() & {"emptyMachineIds", "unusableMachineIds"}
    assert report["emptyMachinesCount"] >= 0


def test_no_overview_says_met_while_a_shard_does_not_answer(fleet: LivingFleet) -> None:
    found = fleet.get("/fleet/overview", port=fleet.partial_port)
    assert found["shardsDown"] == ["shard-9"]
    assert found["warnings"][0].startswith("shard-9 gave no answer")
    assert found["sentence"].startswith("Shard-9 does not answer")
    assert "all demand met" not in found["sentence"]


@pytest.mark.parametrize(
    ("asked", "seconds", "step"),
    [
        ("", 3600, 30),
        ("?duration=x&step=", 3600, 30),
        ("?duration=48h&step=2h", 86_400, 3600),
        ("?duration=-1s&step=0", 3600, 30),
        ("?duration=1h30m&step=500ms", 5400, 1),
    ],
    ids=["defaults", "unreadable", "too long", "not positive", "others"],
)
def test_a_duration_that_cannot_be_read_is_the_default_and_a_long_one_is_cut(
    fleet: LivingFleet, asked: str, seconds: int, step: int
) -> None:
    found = fleet.get(f"/shards/shard-0/trends{asked}")
    assert found["cycleP99Seconds"] == [0.01, None, float(seconds)]
    assert found["timestamps"][1] - found["timestamps"][0] == step


def test_actions_are_by_kind_then_by_time_and_gaps_stay_gaps(fleet: LivingFleet) -> None:
    found = fleet.get("/fleet/actions")
    assert found["kinds"] == ["Reclaim"]
    assert found["values"] == [[0.0, None, 2.5]]
    assert "queriedAt" not in found


def test_a_name_that_no_shard_can_have_is_bad_and_an_unknown_one_is_not_found(
    fleet: LivingFleet,
) -> None:
    assert fleet.get("/shards/Shard_0", 400)["field"] == "pod"
    found = fleet.get("/shards/shard-1", 404)
    assert found["error"] == "no shard shard-1"
    assert found["remedy"] == "nearest are shard-0"


def test_needs_ask_for_a_shard_that_is_there(fleet: LivingFleet) -> None:
    assert fleet.get("/needs", 400)["field"] == "shard"
    assert fleet.get("/needs?shard=shard-7", 404)["error"] == "no shard shard-7"


def test_needs_of_a_past_cycle_are_never_called_met(fleet: LivingFleet) -> None:
    kept = fleet.get("/status")["journal"]["shard-0"]
    past = (kept["firstCycle"] + kept["lastCycle"]) // 2
    found = fleet.get(f"/needs?shard=shard-0&at={kept['epoch']}:{past}")
    assert schemas.problems_in(found, schemas.Needs) == ""
    assert found["cycle"] == past
    told = [row for row in found["needs"] if "state" not in row]
    assert len(told) == found["needStates"]["unjudged"] > 0
    assert found["needStates"]["met"] is None
    assert {row.get("state") for row in found["needs"]} <= {None, "arriving", "blocked", "short"}
    assert not any("stuckPods" in row or "sinceUnixNanos" in row for row in found["needs"])
    assert fleet.get(f"/needs?shard=shard-0&at={past}")["needs"] == found["needs"]


def test_a_cycle_that_cannot_be_looked_at_says_why(fleet: LivingFleet) -> None:
    assert fleet.get("/needs?shard=shard-0&at=soon", 400)["field"] == "at"
    assert "no cycle" in fleet.get("/needs?shard=shard-0&at=99999999", 404)["error"]
    assert "epoch" in fleet.get("/needs?shard=shard-0&at=99:1", 404)["error"]
    found = fleet.get("/needs?shard=shard-0&at=1&source=pod", 400)
    assert "is not recorded" in found["error"]


def test_needs_are_cut_at_the_limit_and_the_total_is_before_it(fleet: LivingFleet) -> None:
    everything = fleet.get("/needs?shard=shard-0")
    first = fleet.get("/needs?shard=shard-0&limit=1")
    assert len(first["needs"]) == 1
    assert first["totalNeeds"] > 1
    assert everything["totalNeeds"] == len(everything["needs"]) > 1
    assert "clamped" not in first
    bad = fleet.get("/needs?shard=shard-0&limit=many")
    assert len(bad["needs"]) == bad["totalNeeds"]


def test_a_huge_limit_is_cut_and_said_to_be(fleet: LivingFleet) -> None:
    found = fleet.get("/needs?shard=shard-0&limit=999999999")
    assert found["clamped"] is True
    assert found["limit"] == 20_000


def test_a_row_of_needs_has_the_fields_of_the_older_dashboard(fleet: LivingFleet) -> None:
    rows = fleet.get("/needs?shard=shard-0")["needs"]
    for row in rows:
        assert row.keys() >= NEED_KEYS
        assert row["state"] in ("met", "arriving", "blocked", "short")
    found = fleet.get(f"/needs?shard=shard-0&cluster=shop&id={rows[0]['needId'][:4]}")
    assert {row["clusterId"] for row in found["needs"]} <= {"shop"}
    of_state = fleet.get("/needs?shard=shard-0&state=met,arriving")
    assert {row["state"] for row in of_state["needs"]} <= {"met", "arriving"}
    assert fleet.get("/needs?shard=shard-0&state=odd", 400)["field"] == "state"


def test_answers_of_one_cycle_are_the_same_and_the_time_is_not(fleet: LivingFleet) -> None:
    def asked() -> dict[str, Any]:
        return fleet.get("/needs?shard=shard-0&limit=5")

    first, second = asked(), asked()
    assert first["queriedAt"] < second["queriedAt"]
    if first["cycle"] == second["cycle"]:
        del first["queriedAt"], second["queriedAt"]
        assert first == second


def test_clusters_have_what_their_operators_report(fleet: LivingFleet) -> None:
    found = {each["id"]: each for each in fleet.get("/clusters")["clusters"]}
    assert set(found) == {"shop", "ml", "batch"}
    shop = found["shop"]
    assert shop["connected"] is True
    assert shop["machines"] > 0
    assert shop["boundUnixNanos"] > 0
    one = fleet.get("/clusters/shop")
    assert {"Pending", "Acknowledged"} <= one["capacityRequestsByPhase"].keys()
    assert sum(one["upcomingNodesByPhase"].values()) == one["upcomingNodesTotal"]
    assert fleet.get("/clusters/shap", 404)["remedy"] == "nearest are shop"


def test_capacity_is_available_by_the_profile_that_is_asked_for(fleet: LivingFleet) -> None:
    found = {each["id"]: each["items"] for each in fleet.get("/available-capacity")["clusters"]}
    assert set(found) == {"shop", "ml", "batch"}
    for item in (each for items in found.values() for each in items):
        assert (item["availability"] == "None") == (item["availableCount"] == 0)
        assert item["cost"].startswith("$") == (item["availableCount"] > 0)


def test_the_topology_names_shards_and_their_domains(fleet: LivingFleet) -> None:
    found = fleet.get("/topology")
    assert found["coordinator"]["raftTerm"] > 0
    assert [each["shardId"] for each in found["shards"]] == ["shard-0"]
    assert found["shards"][0]["lastHeartbeatUnixSec"] > 0


def test_reports_are_those_of_the_coordinator(fleet: LivingFleet) -> None:
    (report,) = fleet.get("/shard-reports?shard=shard-0")["reports"]
    assert report["summary"]["totalMachines"] == fleet.local.machines
    assert sum(report["summary"]["zoneCounts"].values()) == fleet.local.machines
    assert fleet.get("/shard-reports?shard=shard-7", 404)["error"] == "no shard shard-7"


def test_the_matrix_of_capacity_and_penalty_adds_up(fleet: LivingFleet) -> None:
    found = fleet.get("/finops/snapshot")
    assert found["capacityTypes"][:4] == ["BareMetal", "Reserved", "OnDemand", "Spot"]
    configured = found["totals"]["configuredMachines"]
    assert sum(sum(row.values()) for row in found["configured"].values()) == configured
    assert sum(found["configuredByBucket"].values()) == configured
    assert set(found["configuredByBucket"]) <= set(found["buckets"])
