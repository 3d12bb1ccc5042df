"""The rig itself: a shard and a provider in processes, found at the same place after a loss."""

from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet, MakeProvider
from tests.e2e.rig.nodes import named_by_machine
from tests.e2e.rig.waiting import until_so
from tests.shard_system.waiting import until


async def test_a_shard_that_is_killed_comes_back_where_it_was(make_fleet: MakeFleet) -> None:
    fleet = await make_fleet([offered("bare_metal", 3)])

    async def knows_the_machines() -> bool:
        page = await fleet.admin.machines()
        return {view.machine.id for view in page.machines} == set(await fleet.machines())

    await until_so(knows_the_machines)
    assert fleet.shard is not None
    shard = fleet.shard
    before = shard.pid
    shard.kill()
    assert not shard.runs
    await fleet.restart_shard()
    await until_so(knows_the_machines)
    assert shard.pid != before

    async def counts_them() -> bool:
        return await shard.metric("bigfleet_shard_inventory_machines") == 3

    await until_so(counts_them, shard.shown)


async def test_settings_of_a_shard_reach_it(make_fleet: MakeFleet) -> None:
    fleet = await make_fleet([offered("bare_metal", 1)], dry_run="true")
    assert (await fleet.admin.status()).dry_run


async def test_a_machine_whose_kubelet_is_broken_has_no_node(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    fleet = await make_provider([offered("bare_metal", 2)])
    broken, sound = sorted(await fleet.machines())
    actor = await act(east, fleet, naming=named_by_machine, tells_machine_id=True)
    actor.broken.add(broken)
    await fleet.configure("east", broken, sound)
    await until(lambda: actor.node_of(sound), lambda: actor.troubles)
    assert set(await east.nodes()) == {sound}
    actor.broken.clear()
    await until(lambda: actor.node_of(broken), lambda: actor.troubles)


async def test_an_actor_that_starts_again_takes_over_its_nodes(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    fleet = await make_provider([offered("bare_metal", 1)])
    (machine,) = await fleet.machines()
    await fleet.configure("east", machine)
    first = await act(east, fleet)
    await until(lambda: first.machines, lambda: first.troubles)
    before = await east.nodes()
    second = await act(east, fleet)
    await until(lambda: second.machines, lambda: second.troubles)
    uids = [node["metadata"]["uid"] for node in (*before.values(), *(await east.nodes()).values())]
    assert len(uids) == 2
    assert len(set(uids)) == 1
