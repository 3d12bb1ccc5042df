"""The verbs that change something in a fleet: what they confirm, and what is refused."""

import getpass
from pathlib import Path

import pytest

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import ProviderEntry, QuotaUsage
from bigfleet.model.provider_calls import Code, Rejected
from tests.cli.coordinator_commands.rig import (
    EAGER,
    NOWHERE,
    ZONE,
    LateClock,
    LiveFleet,
    living_fleet,
    reads_as,
)
from tests.cli.shard_commands.rig import WHY, run
from tests.coordinator_process.rig import ADA, PROVIDER
from tests.coordinator_wire.scripted import ScriptedCoordinator, serving
from tests.wire.certificates import Authority

DOMAIN = ("--key", ZONE, "--value", "z1")
#: Default owners have a verb of their own.
OWNER = ("--key", "bigfleet.lucy.sh/provider", "--value", PROVIDER)
POOL = ("--provider", "sim", "--region", "eu")


async def said_of(fleet: LiveFleet) -> list[str]:
    """What was changed, by whom and why, as the coordinator tells it."""
    return [e.text async for e in fleet.rig.client.events() if e.kind == "admin"]


async def test_a_change_is_confirmed_and_told_with_its_owner_and_reason(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        assert await fleet.shown("quotas", "set", *POOL, "--total", "5000", *WHY) == (
            "sim eu is limited to 5,000; 0 in use\n"
        )
        assert await fleet.shown("quotas", "-o", "name") == "quota/sim/eu\n"
        (told,) = await said_of(fleet)
        assert told.startswith("ada: ")
        assert told.endswith(" 5000 (a test)")
        await fleet.shown("domains", "assign", *DOMAIN, "--shard", "shard-0", "--reason", "mine")
        assert (await said_of(fleet))[-1] == (
            f"{getpass.getuser()}: assign {ZONE}=z1 to shard-0 (mine)"
        )


async def test_a_quota_below_what_is_in_use_takes_force_and_says_by_how_much(
    tmp_path: Path,
) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        for shard, used in (("shard-0", 300), ("shard-1", 5)):
            await fleet.sync(shard, usage=(QuotaUsage("sim", "eu", 0, used, 10, 100),))
        said = await fleet.refused(4, "quotas", "set", *POOL, "--total", "100", *WHY)
        assert said == (
            "305 slots of sim eu are in use, 205 more than 100: nothing could be bought until 205 "
            "are given back; --force sets it anyway\n"
        )
        assert (await fleet.document("quotas"))["items"] == []
        assert await fleet.shown("quotas", "set", *POOL, "--total", "305", *WHY) == (
            "sim eu is limited to 305; 305 in use\n"
        )
        said = await fleet.shown("quotas", "set", *POOL, "--total", "100", "--force", *WHY)
        assert said == (
            "sim eu is limited to 100; 305 in use: nothing is bought until 205 are given back\n"
        )


async def test_every_change_is_confirmed_in_json_too(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1", settings=EAGER) as fleet:
        quota = await fleet.document("quotas", "set", *POOL, "--total", "7", *WHY)
        assert reads_as(pb.SetQuotaResponse(), quota, "text", "queriedAt")
        words = ("set", "aws", "--address", "a:9000", "--region", "us", *WHY)
        listed = await fleet.document("providers", *words)
        assert reads_as(pb.UpsertProviderResponse(), listed, "text", "queriedAt")
        assert listed["provider"]["region"] == "us"
        owner = await fleet.document(
            "domains", "default", "--provider", "aws", "--shard", "shard-1", *WHY
        )
        assert reads_as(pb.SetDefaultOwnerResponse(), owner, "text", "queriedAt")
        # By the name in the registry; no shard had it before, so no shard has to give it up.
        assert owner["defaultOwner"] == {"providerAddress": "a:9000", "shardId": "shard-1"}
        begun = await fleet.transfer_to("shard-1", donor="shard-0")
        ended = await fleet.document("shards", "cancel", begun.id, *WHY)
        assert reads_as(pb.CancelTransferResponse(), ended, "text", "queriedAt")
        for verb in (
            ("quotas", "delete", *POOL),
            ("providers", "delete", "aws"),
            ("domains", "unassign", *DOMAIN),
            ("shards", "remove", "shard-1", "--force"),
        ):
            assert (await fleet.document(*verb, *WHY)).keys() == {"text", "queriedAt"}
        assert reads_as(shared.QuotaAllocation(), quota["quota"])


async def test_what_is_not_said_of_a_provider_stays_as_it_was(tmp_path: Path) -> None:
    async with living_fleet(tmp_path) as fleet:
        await fleet.rig.client.upsert_provider(ADA, ProviderEntry("aws", "a:1", "eu", True))
        said = await fleet.shown("providers", "set", "aws", "--address", "b:2", *WHY)
        assert said == "aws is at b:2 in eu\n"
        (entry,) = await fleet.rig.client.providers()
        assert (entry.address, entry.supports_delete) == ("b:2", True)
        await fleet.shown("providers", "set", "aws", "--address", "b:2", "--region", "", *WHY)
        assert [each.region for each in await fleet.rig.client.providers()] == [""]


async def test_a_default_owner_changes_once_the_old_one_has_given_up(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        words = ("default", "--provider", PROVIDER, "--shard", "shard/shard-1", *WHY)
        said = await fleet.shown("domains", *words)
        assert said == (
            f"shard-1 owns machines of {PROVIDER} outside every assigned domain once shard-0 has "
            "given it up; bigfleet shards instructions shows who has not\n"
        )


async def test_a_provider_that_is_misspelt_gets_no_default_owner(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.shown("providers", "set", "aws-west", "--address", "a:1", *WHY)
        before = await said_of(fleet)
        owner = ("--shard", "shard-0", *WHY)
        said = await fleet.refused(3, "domains", "default", "--provider", "aws-wset", *owner)
        assert "no provider has the name or address aws-wset" in said
        assert "did you mean aws-west?" in said
        assert await said_of(fleet) == before
        await fleet.shown("domains", "default", "--provider", "aws-west", *owner)
        await fleet.shown("domains", "default", "--provider", "b:2", *owner)


async def test_a_domain_is_taken_back(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.shown("domains", "assign", *DOMAIN, "--shard", "shard-0", *WHY)
        said = await fleet.shown("domains", "unassign", *DOMAIN, *WHY)
        assert said.startswith(f"{ZONE}=z1 is not assigned once shard-0 has given it up; ")
        again = await fleet.shown("domains", "unassign", "--key", "k", "--value", "v", *WHY)
        assert again == "k=v is not assigned\n"


async def test_a_shard_that_reports_is_not_removed_without_force(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.report("shard-1", NOWHERE)
        said = await fleet.refused(4, "shards", "remove", "shard-1", *WHY)
        assert said.startswith("shard-1 reported ")
        assert said.endswith(" ago; stop it first, or give --force\n")
        shown = await fleet.shown("shards", "remove", "shard/shard-1", "--force", *WHY)
        assert shown.startswith("shard-1 is removed: ")
        assert [e.shard_id for e in await fleet.rig.client.shards()] == ["shard-0"]


async def test_a_shard_that_has_been_silent_is_removed(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", clock=LateClock()) as fleet:
        await fleet.shown("shards", "remove", "shard-0", *WHY)
        assert await fleet.shown("shards") == (
            "No shard has reported yet; start one with --coordinator-addr.\n"
        )


async def test_a_new_leader_that_has_heard_no_shard_asks_the_shard_itself(tmp_path: Path) -> None:
    async with living_fleet(tmp_path / "before", "shard-0") as before:
        async with living_fleet(tmp_path / "after") as fleet:
            # Its coordinator forgets what it heard, but not who there is.
            await fleet.report("shard-0", before.shards["shard-0"].address)
            await fleet.report("shard-1", NOWHERE)
        async with living_fleet(tmp_path / "after") as fleet:
            said = await fleet.refused(4, "shards", "remove", "shard-0", *WHY)
            where = before.shards["shard-0"].address
            assert said == f"shard-0 answers at {where}; stop it first, or give --force\n"
            assert "is removed" in await fleet.shown("shards", "remove", "shard-1", *WHY)


async def test_a_cluster_is_unbound_once_its_shard_no_longer_reports_it(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.sync("shard-0", "shop")
        said = await fleet.refused(4, "clusters", "unbind", "shop", *WHY)
        assert said.startswith("cluster shop is in session with shard-0: ")
        await fleet.sync("shard-0")
        shown = await fleet.shown("clusters", "unbind", "cluster/shop", *WHY)
        assert shown == "cluster shop is bound to no shard\n"
        assert await fleet.rig.client.bindings() == ()


async def test_an_unknown_object_is_exit_3_and_one_in_use_is_exit_4(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        missing = (
            ("clusters", "unbind", "nobody"),
            ("quotas", "delete", *POOL),
            ("providers", "delete", "aws"),
            ("shards", "cancel", "tx-9"),
            ("domains", "assign", *DOMAIN, "--shard", "shard-9"),
            ("domains", "default", "--provider", PROVIDER, "--shard", "shard-9"),
        )
        for words in missing:
            assert await fleet.refused(3, *words, *WHY)
        said = await fleet.refused(3, "shards", "remove", "shard-11", *WHY)
        assert "did you mean shard-1?" in said
        await fleet.shown("domains", "assign", *DOMAIN, "--shard", "shard-0", *WHY)
        taken = await fleet.refused(4, "domains", "assign", *DOMAIN, "--shard", "shard-1", *WHY)
        assert "unassign it first" in taken
        await fleet.sync("shard-0")
        await fleet.shown("providers", "set", "sim", "--address", PROVIDER, *WHY)
        used = await fleet.refused(4, "providers", "delete", "sim", *WHY)
        assert "is attached to shard-0" in used


async def test_a_transfer_after_its_grant_is_not_cancelled() -> None:
    late = Rejected(Code.ABORTED, "the machines of t1 are granted already")
    async with serving(ScriptedCoordinator(raises=late)) as rig:
        result = await run("shards", "cancel", "t1", *WHY, "--coordinator", rig.address)
    assert (result.exit_code, result.stdout, result.stderr) == (4, "", f"{late.text}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("shards", "remove", "shard-0"),
        ("shards", "remove", *WHY),
        ("shards", "cancel", *WHY),
        ("shards", "cancel", "t1"),
        ("shards", "remove", "machine/m-1", *WHY),
        ("domains", "assign", *DOMAIN, *WHY),
        ("domains", "assign", *DOMAIN, "--shard", "shard-0"),
        ("domains", "unassign", "--key", ZONE, *WHY),
        ("domains", "default", "--provider", "p", *WHY),
        ("domains", "assign", *OWNER, "--shard", "shard-0", *WHY),
        ("quotas", "set", *POOL, *WHY),
        ("quotas", "set", *POOL, "--total", "-1", *WHY),
        ("quotas", "set", *POOL, "--total", "many", *WHY),
        ("quotas", "delete", "--provider", "sim", *WHY),
        ("providers", "set", "aws", *WHY),
        ("providers", "set", "aws", "--address", "nowhere", *WHY),
        ("providers", "delete", "aws"),
        ("clusters", "unbind", "shop"),
        ("quotas", "set", *POOL, "--total", "1", "--reason", " "),
    ],
    ids=" ".join,
)
async def test_words_that_do_not_say_enough_or_too_much_change_nothing(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.sync("shard-0", "shop")
        before = await said_of(fleet)
        assert await fleet.refused(2, *words)
        assert await said_of(fleet) == before


async def test_a_shard_in_the_environment_is_not_a_new_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where to ask is one thing; whom to give a domain is another."""
    monkeypatch.setenv("BIGFLEET_CLI_SHARD", "shard-0")
    async with living_fleet(tmp_path, "shard-0") as fleet:
        said = await fleet.refused(2, "domains", "assign", *DOMAIN, *WHY)
        assert "Missing option '--shard'" in said


async def test_a_reader_changes_nothing(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    coordinator = ScriptedCoordinator()
    async with serving(coordinator, tls=ca.leaf("server", "bigfleet://coordinator")) as rig:
        asked = ["--coordinator", rig.address, *_as_role(ca, "readonly")]
        assert (await run("domains", *asked)).exit_code == 0
        for words in (
            ("shards", "remove", "shard-0", "--force"),
            ("shards", "cancel", "t1"),
            ("domains", "assign", *DOMAIN, "--shard", "shard-0"),
            ("domains", "unassign", *DOMAIN),
            ("domains", "default", "--provider", "p:9000", "--shard", "shard-0"),
            ("quotas", "set", *POOL, "--total", "1"),
            ("quotas", "delete", *POOL),
            ("providers", "set", "aws", "--address", "a:1"),
            ("providers", "delete", "aws"),
            ("clusters", "unbind", "shop"),
        ):
            refused = await run(*words, *WHY, *asked)
            assert (refused.exit_code, refused.stdout) == (4, ""), refused.output
            assert "bigfleet://readonly may not do this" in refused.stderr
        assert coordinator.peers == []
        allowed = ("--coordinator", rig.address, *_as_role(ca, "admin"))
        assert (await run("quotas", "delete", *POOL, *WHY, *allowed)).exit_code == 0
        assert [peer.identity for peer in coordinator.peers] == ["bigfleet://admin"]


def _as_role(ca: Authority, role: str) -> list[str]:
    files = ca.leaf(role, f"bigfleet://{role}")
    names = {"--tls-cert": files.cert, "--tls-key": files.key, "--tls-ca": files.ca}
    return [word for pair in names.items() for word in map(str, pair)]
