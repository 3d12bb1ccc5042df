"""The scripted check: real sessions and a real provider over mTLS, from the first need to none.

Certificates are those `bigfleet certs` makes. Four machines: two of our own and two to buy. Batch
takes all of them, web preempts two, gives one back, and in the end no cluster needs any.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from bigfleet.cli.certs import certs as certs_command
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import (
    INSTRUCTION_PREFIX,
    BootstrapRequest,
    ReclaimInstruction,
)
from bigfleet.wire.lines import TlsFiles
from tests.shard_system.demand import HIGH, LOW
from tests.shard_system.operators import Operator, operating
from tests.shard_system.rig import (
    AT_ONCE,
    PROMPT_RELEASE,
    QUICK,
    ProviderRig,
    ShardRig,
    offered,
    provided,
    sharded,
)
from tests.shard_system.waiting import until, until_told

S = MachineState
CYCLE_PHASE = "cycle_phase_duration_seconds"
OFFERS = [offered("bare_metal", 2), offered("on_demand", 2)]
#: Of two updates of a machine that wait for a busy line only the second is told: what is to be seen
#: on the way must last for a while.
SLOW_DRAIN = AT_ONCE.replace("drain=0", "drain=fixed:500ms")


def certified(folder: Path, *roles: str) -> dict[str, TlsFiles]:
    """`shard shard-0`, `admin` ...: made by the command line, as a person would."""
    run("ca", "--dir", str(folder))
    return {role: _issued(folder, *role.split()) for role in roles}


def run(*words: str) -> None:
    done = CliRunner().invoke(certs_command, list(words))
    assert done.exit_code == 0, done.output


def _issued(folder: Path, role: str, name: str = "") -> TlsFiles:
    run("issue", "--role", role, "--dir", str(folder), *(["--id", name] if name else []))
    own = folder / "-".join(filter(None, (role, name)))
    return TlsFiles(own / "tls.crt", own / "tls.key", own / "ca.crt")


def metrics_in(page: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name.removeprefix("bigfleet_shard_"), tuple(sorted(sample.labels.items()))): (
            sample.value
        )
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


async def provisioned(provider: ProviderRig, batch: Operator) -> None:
    await batch.wants(4, LOW)
    await until(lambda: len(batch.configured()) == 4, lambda: batch.nodes)
    assert await provider.states() == {S.CONFIGURED: 4}
    assert {m.cluster for m in (await provider.machines()).values()} == {"batch"}
    assert {request.cluster_id for request in batch.seen(BootstrapRequest)} == {"batch"}
    for machine in batch.configured():
        assert batch.told_of(machine)[-2:] == [S.CONFIGURING, S.CONFIGURED]


async def preempted(provider: ProviderRig, batch: Operator, web: Operator) -> None:
    await web.wants(2, HIGH)
    await until(lambda: len(web.configured()) == 2, lambda: (web.nodes, batch.nodes))
    asked = batch.seen(ReclaimInstruction)
    assert [(i.preemptor_priority, i.grace_period_seconds > 0) for i in asked] == [(HIGH, True)] * 2
    assert all(i.instruction_id.startswith(INSTRUCTION_PREFIX) for i in asked)
    taken = await provider.bound_to("web")
    assert taken == web.configured()
    await until(lambda: len(batch.nodes) == 2, lambda: batch.nodes)
    for machine in taken:
        assert batch.told_of(machine)[-3:] == [S.CONFIGURED, S.DRAINING, S.IDLE]


async def reclaimed(provider: ProviderRig, batch: Operator, web: Operator) -> None:
    """What web gives back goes to batch, which still asks for four."""
    await web.wants(1, HIGH)
    await until(lambda: len(batch.configured()) == 3, lambda: (web.nodes, batch.nodes))
    [asked] = web.seen(ReclaimInstruction)
    assert (asked.preemptor_priority, asked.grace_period_seconds) == (0, 600)
    assert await provider.bound_to("batch") == batch.configured()
    await until(lambda: len(web.nodes) == 1, lambda: web.nodes)


async def released(provider: ProviderRig, batch: Operator, web: Operator) -> None:
    """Bought machines go back to where they came from, our own stay."""
    await batch.wants(0, LOW)
    await web.wants(0, HIGH)

    async def all_back() -> bool:
        return await provider.states() == {S.IDLE: 2, S.SPECULATIVE: 2}

    await until_told(all_back, lambda: (web.nodes, batch.nodes))
    await until(lambda: not batch.nodes and not web.nodes, lambda: (web.nodes, batch.nodes))


async def accounted(shard: ShardRig) -> None:
    """Everything that was done is in the audit log and in the metrics, and as completed."""
    await until(lambda: shard.counted("idle_releases_total") == 2)
    status, text = await shard.page("/metrics")
    assert status == 200
    metrics = metrics_in(text)
    done = {
        dict(labels)["kind"]: value
        for (name, labels), value in metrics.items()
        if name == "action_execute_outcomes_total" and value
    }
    ended = {
        dict(labels)["outcome"]
        for (name, labels), value in metrics.items()
        if name == "action_execute_outcomes_total" and value
    }
    assert ended == {"success"}
    assert done == {"Provision": 2, "Bootstrap": 7, "Preempt": 2, "Reclaim": 5, "Delete": 2}
    phases = {"create": 2, "configure": 7, "drain": 7, "delete": 2}
    for phase, times in phases.items():
        assert metrics[f"{phase}_phase_seconds_count", ()] == times
    assert metrics["provisioning_latency_seconds_count", ()] == len(("batch", "web"))
    measured = {dict(labels)["phase"] for name, labels in metrics if name == f"{CYCLE_PHASE}_count"}
    assert measured == set("snapread phase1 phase2 phase3 emit execute reconcile".split())
    await until(lambda: len(shard.audit()) == sum(done.values()), shard.audit)
    lines = shard.audit()
    assert Counter(line["kind"] for line in lines) == done
    for kind in done:
        told = [line for line in lines if line["kind"] == kind]
        assert all(line["outcome"] == "success" and line["reason"] for line in told)


async def test_a_fleet_over_mtls_from_provision_to_release(tmp_path: Path) -> None:
    certs = certified(tmp_path / "certs", "shard shard-0", "admin", "cluster batch", "cluster web")
    settings = replace(QUICK, release=PROMPT_RELEASE)
    async with (
        provided(
            tmp_path, OFFERS, tls=certs["admin"], caller=certs["admin"], latency=SLOW_DRAIN
        ) as provider,
        sharded(
            tmp_path / "data", [provider.address], settings, tls=certs["shard shard-0"]
        ) as shard,
        operating("batch", shard.address, certs["cluster batch"]) as batch,
        operating("web", shard.address, certs["cluster web"]) as web,
    ):
        await provisioned(provider, batch)
        await preempted(provider, batch, web)
        await reclaimed(provider, batch, web)
        await released(provider, batch, web)
        await accounted(shard)
