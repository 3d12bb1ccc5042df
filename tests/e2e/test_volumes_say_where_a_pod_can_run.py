"""A claim on a volume of one zone: the machine is bought in that zone."""

from bigfleet.model.requirements import ZONE_KEY
from tests.e2e.joined import join
from tests.e2e.placed import OPERATOR_HASTE, PODWATCH_HASTE, stays_quiet, until_all_run
from tests.e2e.rig.api import Object
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import node_name, pod, pod_spec


async def test_a_pod_with_a_volume_of_a_zone_gets_a_machine_of_that_zone(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    zones = [offered("bare_metal", 2, f"sim-1{letter}") for letter in "abc"]
    fleet = await make_fleet(zones)
    here = await join(east, fleet, act, settings=OPERATOR_HASTE, podwatch_settings=PODWATCH_HASTE)
    volume = f"{east.namespace}-disk"
    await east.api.create("/api/v1/persistentvolumes", zonal_volume(volume, "sim-1c"))
    await east.apply(claim("disk", volume))
    path = f"/api/v1/namespaces/{east.namespace}/persistentvolumeclaims/disk"

    async def is_bound() -> bool:
        return bool((await east.api.get(path))["status"]["phase"] == "Bound")

    await east.until(is_bound)
    mounted = [{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}]
    await east.apply(pod("db", pod_spec(cpu="2", volumes=mounted)))
    try:
        await until_all_run(here, 1)
        (db,) = await east.pods("app=db")
        node = (await east.nodes())[node_name(db)]
        assert node["metadata"]["labels"][ZONE_KEY] == "sim-1c"
        await stays_quiet(here)
        assert len(await fleet.bound_to("east")) == 1
    finally:
        await east.api.delete(f"/api/v1/persistentvolumes/{volume}")


def zonal_volume(name: str, zone: str) -> Object:
    term = {"matchExpressions": [{"key": ZONE_KEY, "operator": "In", "values": [zone]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "e2e-zonal",
            "csi": {"driver": "e2e.invalid", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def claim(name: str, volume: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "e2e-zonal",
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": volume,
        },
    }
