"""Providers on the coordinator's list: attached where that is wanted, and for good."""

from dataclasses import replace
from pathlib import Path

from bigfleet.model.coordination import ProviderEntry, SyncReply
from bigfleet.model.ownership import OwnershipView
from bigfleet.shard.coordination.registry import KEY, kept_providers
from bigfleet.shard.effects import COORDINATION
from bigfleet.shard.instructions import AttachProvider, Instruction
from bigfleet.shard.settings import ShardSettings
from tests.shard_system.rig import QUICK, offered, provided, sharded
from tests.shard_system.waiting import until
from tests.transfers.shards import ADDRESS, Shard, idle

WANTED = ShardSettings(providers_from_registry=True)
OTHER = ProviderEntry("metal", "metal:9000")


def attached(shard: Shard, *listed: ProviderEntry) -> list[AttachProvider]:
    """What the driver is asked to attach after a sync."""
    coordination = shard.state.coordination
    request = coordination.request(shard.at, False)
    asked: list[Instruction] = shard.state.take_sync(
        SyncReply(1, providers=listed), request, shard.at
    )
    return [each for each in asked if isinstance(each, AttachProvider)]


def test_a_provider_on_the_list_is_attached_where_that_is_wanted() -> None:
    shard = Shard(idle(1), settings=WANTED)
    assert attached(shard, OTHER) == [AttachProvider("metal", "metal:9000")]


def test_other_shards_keep_to_their_own() -> None:
    shard = Shard(idle(1))
    assert attached(shard, OTHER) == []
    shard.sync(providers=(OTHER,))
    assert kept_providers(shard.disk[COORDINATION]) == {}


def test_what_is_attached_is_not_attached_again() -> None:
    shard = Shard(idle(1), settings=WANTED)
    by_another_name = ProviderEntry("also-cloud", ADDRESS)
    assert attached(shard, ProviderEntry("cloud", ADDRESS), by_another_name) == []


def test_a_provider_of_a_known_name_at_another_address_is_left_alone() -> None:
    shard = Shard(idle(1), settings=WANTED)
    assert attached(shard, ProviderEntry("cloud", "elsewhere:9000")) == []
    assert shard.state.parts.providers == {"cloud": ADDRESS}


def test_the_list_is_remembered_for_the_next_start() -> None:
    shard = Shard(idle(1), settings=WANTED)
    shard.state.attach_provider(OTHER.name, OTHER.address)
    shard.sync(providers=(OTHER,))
    assert kept_providers(shard.disk[COORDINATION]) == {"metal": "metal:9000"}


def test_an_unreadable_list_is_ignored() -> None:
    assert kept_providers({KEY: b"{"}) == {}
    assert kept_providers({}) == {}


def test_nothing_waits_for_the_first_list_of_a_provider_that_came_later() -> None:
    shard = Shard(idle(1), settings=WANTED)
    shard.state.attach_provider(OTHER.name, OTHER.address)
    assert shard.state.listed_once()
    assert shard.sync().providers[1].address == OTHER.address


async def test_machines_of_a_provider_that_is_listed_later_are_there_and_stay(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / name for name in ("first", "second", "shard")]
    for folder in folders:
        folder.mkdir()
    async with (
        provided(folders[0], [offered("on_demand", 1)]) as first,
        provided(folders[1], [offered("spot", 2)]) as second,
    ):
        owners = {first.address: "shard-0", second.address: "shard-0"}
        view = OwnershipView.of(1, default_owners=owners)
        reply = SyncReply(1, ownership=view, providers=(ProviderEntry("late", second.address),))
        settings = replace(QUICK, ownership="all", providers_from_registry=True)
        async with sharded(folders[2], [first.address], settings) as rig:
            side = rig.process.coordinating
            await side.take_sync(reply, await side.sync_request(False))
            await until(lambda: rig.process.state.status().machines == 3)
        async with sharded(folders[2], [first.address], settings) as again:
            await until(lambda: again.process.state.status().machines == 3)
