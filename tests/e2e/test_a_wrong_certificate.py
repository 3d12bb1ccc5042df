"""An operator with another cluster's certificate is refused, says so, and harms nothing."""

from pathlib import Path

from bigfleet.kube.kinds import crd_documents
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_client import ProviderClient
from tests.e2e.joined import GROUP
from tests.e2e.requests import capacity_request, phases
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.standing_still import at_rest, moved, sight_of
from tests.etcd_cluster import free_ports
from tests.shard_system.test_a_fleet_from_provision_to_release import certified


def words(files: TlsFiles) -> dict[str, str]:
    return {"tls_cert": str(files.cert), "tls_key": str(files.key), "tls_ca": str(files.ca)}


def put_in_place(files: TlsFiles, place: TlsFiles) -> None:
    """As a tool that renews certificates does: the same names, another content."""
    for name in ("cert", "key", "ca"):
        content = getattr(files, name).read_bytes()
        path: Path = getattr(place, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


async def test_an_operator_with_the_certificate_of_another_cluster_changes_nothing_and_recovers(
    east: Cluster, tmp_path: Path
) -> None:
    certs = certified(tmp_path / "certs", "shard shard-0", "admin", "cluster east", "cluster west")
    fleet = Fleet(tmp_path / "fleet", *free_ports(2))
    fleet.folder.mkdir()
    caller = ProviderClient(fleet.provider_address, certs["admin"])
    try:
        served = words(certs["admin"]).items()
        flags = [word for key, value in served for word in (f"--{key.replace('_', '-')}", value)]
        await fleet.start_provider([offered("bare_metal", 1)], *flags)
        await fleet.start_shard(**words(certs["shard shard-0"]))
        fleet.client = caller
        await east.apply_crds(crd_documents())
        path = f"{GROUP}/namespaces/{east.namespace}/capacityrequests"
        await east.api.create(path, capacity_request("web", cpu="7"))
        place = TlsFiles(*(tmp_path / "operator" / n for n in ("tls.crt", "tls.key", "ca.crt")))
        put_in_place(certs["cluster west"], place)
        before = await at_rest(east)
        operator = await fleet.start_operator(east, **words(place), reconnect_most="1s")

        async def is_refused_again_and_again() -> bool:
            return await operator.metric("bigfleet_operator_session_reconnects_total") >= 6

        await east.until(is_refused_again_and_again, operator.shown)
        # It repeats itself once a minute only.
        line, *repeated = operator.logged("session.ended")
        assert len(repeated) <= 1
        assert "PERMISSION_DENIED" in line["msg"]
        assert "cluster/west may not do this; it takes bigfleet://cluster/east" in line["msg"]
        assert moved(before, await sight_of(east)) == []
        assert await fleet.bound_to("east") == await fleet.bound_to("west") == set()

        async def is_ready() -> bool:
            return (await operator.page("/readyz"))[0] == 200

        await east.until(is_ready, lambda: "the shard is not part of being ready")

        put_in_place(certs["cluster east"], place)
        await operator.event("session.opened")

        async def is_served() -> bool:
            return len(await fleet.bound_to("east")) == 1

        await east.until(is_served, operator.shown)

        async def is_acknowledged() -> bool:
            return await phases(east) == {"Acknowledged": 1}

        await east.until(is_acknowledged, operator.shown)
        assert await fleet.bound_to("west") == set()
    finally:
        await fleet.close()
