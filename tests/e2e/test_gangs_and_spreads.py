"""What pods ask of topology reaches the engine, and the real scheduler agrees with the answer."""

from collections import Counter

from bigfleet.model.requirements import RACK_KEY, ZONE_KEY
from tests.e2e.joined import join
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import deployment, node_name, pod_spec

# One pod fills a machine: how many pods go on a Node is the scheduler's business.
WHOLE = "7"


async def test_a_gang_with_required_affinity_lands_in_one_rack(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    racked = {**offered("bare_metal", 12), "sim": {"walk": False, "racks": 3}}
    fleet = await make_fleet([racked])
    here = await join(east, fleet, act)
    term = {"topologyKey": RACK_KEY, "labelSelector": {"matchLabels": {"app": "gang"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    await east.apply(deployment("gang", 4, pod_spec(cpu=WHOLE, affinity=affinity)))
    await here.until_running("gang", 4)
    nodes = await east.nodes()
    assert len(nodes) == 4
    racks = {node["metadata"]["labels"][RACK_KEY] for node in nodes.values()}
    assert len(racks) == 1


async def test_a_spread_that_must_hold_brings_machines_of_every_zone(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    zones = [offered("bare_metal", 3, f"sim-1{letter}") for letter in "abc"]
    fleet = await make_fleet(zones)
    here = await join(east, fleet, act)
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE_KEY,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "spread"}},
    }
    spec = pod_spec(cpu=WHOLE, topologySpreadConstraints=[constraint])
    await east.apply(deployment("spread", 6, spec))
    await here.until_running("spread", 6)
    zone_of = {
        name: node["metadata"]["labels"][ZONE_KEY] for name, node in (await east.nodes()).items()
    }
    pods = await east.pods("app=spread")
    assert Counter(zone_of[node_name(pod)] for pod in pods) == dict.fromkeys(
        ("sim-1a", "sim-1b", "sim-1c"), 2
    )
