"""A real shard, provider and operators: what is taken makes one statement each, also where the
shard starts anew during the drain; what is held back makes none."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from bigfleet.costs.recorded_statements import invoices_of
from bigfleet.journal.segments import segments_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.needs import Need
from bigfleet.model.pauses import PauseScope
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.session_frames import ReclaimInstruction
from bigfleet.model.shard_admin import Audit, PauseCall, ResumeCall
from bigfleet.model.statements import InvoiceCall, Invoices, NextBestKind
from bigfleet.shard.settings import CostSettings
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.shard_system.demand import HIGH, LOW, whole_nodes
from tests.shard_system.operators import Operator, operating
from tests.shard_system.rig import QUICK, ShardRig, audit_lines, offered, provided, sharded
from tests.shard_system.waiting import until, until_told

PREEMPTS_OF_SHOP = PauseScope(cluster_ids=("shop",), kinds=(ActionKind.PREEMPT,))
WHY = Audit("ada", "a test")


def declaring(cluster: str, machines: int, priority: int, dollars: float) -> Need:
    need = whole_nodes(cluster, machines, priority)
    interruption = bucket_of_dollars(dollars)
    return replace(need, profile=replace(need.profile, interruption_bucket=interruption))


async def told(shard: ShardRig) -> Invoices:
    async with ShardAdminClient(shard.address) as admin:
        return await admin.invoices(InvoiceCall())


async def told_of(shard: ShardRig, statements: int) -> Invoices:
    """Once there are that many; they are written a moment after the end of an action."""
    seen: list[Invoices] = []

    async def there_are() -> bool:
        seen.append(await told(shard))
        return seen[-1].total >= statements

    await until_told(there_are, lambda: seen[-1])
    return seen[-1]


def taken(folder: Path) -> list[tuple[str, str]]:
    """What the audit log of both lives says was taken."""
    return [
        (line["kind"], line["machine"])
        for line in audit_lines(folder)
        if line["kind"] in ("Preempt", "Reclaim") and line["outcome"] == "success"
    ]


async def held_back(shard: ShardRig, shop: Operator, web: Operator) -> None:
    """A paused Preempt is decided in every cycle and makes no statement."""
    async with ShardAdminClient(shard.address) as admin:
        paused = await admin.pause(PauseCall(WHY, PREEMPTS_OF_SHOP))
        await web.report(declaring("web", 1, HIGH, 0))
        suppressed = "actions_suppressed_total"
        await until(lambda: shard.counted(suppressed, kind="Preempt") > 2)
        found = await admin.invoices(InvoiceCall())
        assert (found.total, found.gaps, found.trouble) == (0, (), "")
        shop.evicts = False
        await admin.resume(ResumeCall(WHY, paused.pause.pause_id))
    await until(lambda: shop.seen(ReclaimInstruction), lambda: shop.frames)


async def decided(data: Path, provider: str) -> None:
    """A first life, which ends while the machine drains."""
    async with (
        sharded(data, [provider]) as shard,
        operating("shop", shard.address) as shop,
        operating("web", shard.address) as web,
    ):
        await shop.report(declaring("shop", 2, LOW, 8))
        await until(lambda: len(shop.configured()) == 2, lambda: shop.nodes)
        await held_back(shard, shop, web)


async def completed(data: Path, provider: str) -> Invoices:
    """The second life: the drain ends, then no cluster wants a machine any more."""
    async with (
        sharded(data, [provider]) as shard,
        operating("web", shard.address) as web,
    ):
        # The machine drains for this Need: it is known before the machine is free.
        await web.report(declaring("web", 1, HIGH, 0))
        return await completed_for(web, shard)


async def completed_for(web: Operator, shard: ShardRig) -> Invoices:
    async with operating("shop", shard.address) as shop:
        await shop.report(declaring("shop", 2, LOW, 8))
        await until(lambda: len(web.configured()) == 1, lambda: (web.nodes, shop.nodes))
        made = (await told_of(shard, 1)).statements
        (preempt,) = (each for each in made if each.epoch == 1)
        assert (preempt.kind, preempt.epoch, preempt.unknown) == (ActionKind.PREEMPT, 1, "")
        assert (preempt.borne_by, preempt.caused_by, preempt.declared) == ("shop", "web", 8.0)
        assert preempt.next_best.kind is NextBestKind.OTHER_VICTIM
        assert preempt.drain_seconds is not None
        _, page = await shard.page("/metrics")
        assert 'declared_penalties_dollars_total{kind="Preempt"}' in page
        await shop.report()
        await web.report()
        await until(lambda: not (shop.nodes or web.nodes), lambda: (shop.nodes, web.nodes))

        async def all_are_told() -> bool:
            return (await told(shard)).total == len(taken(shard.folder)) >= 3

        await until_told(all_are_told, lambda: taken(shard.folder))
        return await told(shard)


async def test_a_drain_over_a_restart_is_one_statement_live_and_in_the_journal(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    async with provided(tmp_path, [offered("bare_metal", 2)]) as provider:
        await decided(data, provider.address)
        found = await completed(data, provider.address)
    live = found.statements
    assert Counter((each.kind.label, each.machine) for each in live) == Counter(taken(data))
    assert (found.total, found.gaps, found.trouble) == (len(live), (), "")
    recorded = invoices_of(segments_of(data / "journal"), InvoiceCall())
    assert recorded is not None
    ids = sorted(each.id for each in recorded.invoices.statements)
    assert ids == sorted(each.id for each in live)


async def test_months_of_teams_are_those_of_the_settings(tmp_path: Path) -> None:
    settings = replace(QUICK, costs=CostSettings(teams=("shop=retail", "web=retail")))
    async with (
        provided(tmp_path, [offered("bare_metal", 1)]) as provider,
        sharded(tmp_path / "data", [provider.address], settings) as shard,
    ):
        assert (await told(shard)).team_of_cluster == (("shop", "retail"), ("web", "retail"))


async def test_a_damaged_file_is_told_and_machines_are_taken_as_before(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "statements.db").write_bytes(b"\xff" * 40_000)
    async with (
        provided(tmp_path, [offered("bare_metal", 1)]) as provider,
        sharded(data, [provider.address]) as shard,
        operating("shop", shard.address) as shop,
        operating("web", shard.address) as web,
    ):
        await shop.report(declaring("shop", 1, LOW, 8))
        await until(lambda: len(shop.configured()) == 1, lambda: shop.nodes)
        await web.report(declaring("web", 1, HIGH, 0))
        await until(lambda: len(web.configured()) == 1, lambda: web.nodes)
        assert "cannot be used" in (await told(shard)).trouble
        _, page = await shard.page("/metrics")
        assert "bigfleet_shard_statements_degraded 1.0" in page
        assert len(shard.log.events("statements.degraded")) == 1
        (data / "statements.db").unlink()
        assert (await told_of(shard, 1)).trouble == ""
        await until(lambda: shard.log.events("statements.recovered"))
