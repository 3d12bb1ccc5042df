"""The 24 baseline tests under their old names and limits; every profile implies them."""

from collections.abc import Callable

from bigfleet.conformance.behaviours.fields import FORBIDDEN_LABELS, must_have_sane_costs
from bigfleet.conformance.behaviours.listing import must_have_no_duplicates
from bigfleet.conformance.claims import has_host, must, must_be_bound, must_be_clean, must_equal
from bigfleet.conformance.rows import Area, Check, Gate
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, MachineRecord, Token

BASELINE = Area("Baseline", suite="baseline", profiles=("baseline",))
SETTLE, DRAIN, REVISION, OBSERVE, OBSERVE_POLL = 10.0, 30.0, 5.0, 1.0, 0.005


def baseline(
    name: str,
    title: str,
    *,
    creates: int = 0,
    machines: int = 0,
    slots_first: bool = False,
    gates: tuple[Gate, ...] = (),
    exclusive: bool = False,
) -> Callable[[Check], Check]:
    return BASELINE.row(
        f"TestConformance_{name}",
        title,
        creates=creates,
        machines=machines,
        slots_first=slots_first,
        gates=gates,
        exclusive=exclusive,
    )


async def bound(
    trial: Trial, machine: str, cluster: str, metadata: dict[str, str]
) -> MachineRecord:
    (await trial.configure(machine, cluster, metadata)).must_be_ok()
    return await trial.settles(machine, S.CONFIGURED, SETTLE)


async def unbound(trial: Trial, machine: str) -> MachineRecord:
    (await trial.drain(machine, 0)).must_be_ok()
    return await trial.settles(machine, S.IDLE, DRAIN)


@baseline("FullLifecycle", "A machine goes all the way and back", machines=1, slots_first=True)
async def full_lifecycle(trial: Trial) -> None:
    machine, slot = trial.lease_fresh()
    if slot:
        (await trial.create(machine)).must_be_ok()
    must(has_host(await trial.settles(machine, S.IDLE, SETTLE)), f"{machine} is IDLE, no host")
    must_be_bound(await bound(trial, machine, "baseline", {"k": "v"}), "baseline", {"k": "v"})
    must_be_clean(await unbound(trial, machine))
    if slot and trial.can.delete:
        (await trial.delete(machine)).must_be_ok()
        await trial.settles(machine, S.SPECULATIVE, SETTLE)


@baseline("CreateIdempotent", "A repeated Create has the original id", creates=1)
async def create_idempotent(trial: Trial) -> None:
    machine = trial.lease_speculative()
    first = (await trial.create(machine)).must_be_ok().operation_id
    must_equal((await trial.create(machine)).must_be_ok().operation_id, first, "operation id")
    await trial.settles(machine, S.IDLE, SETTLE)


@baseline("ConfigureIdempotent", "A repeated Configure has the original id", machines=1)
async def configure_idempotent(trial: Trial) -> None:
    machine = await trial.lease_idle()
    first = (await trial.configure(machine, "baseline")).must_be_ok().operation_id
    again = (await trial.configure(machine, "baseline")).must_be_ok().operation_id
    must_equal(again, first, "operation id")
    await trial.settles(machine, S.CONFIGURED, SETTLE)


@baseline("DrainIdempotent", "A repeated Drain has the original id", machines=1)
async def drain_idempotent(trial: Trial) -> None:
    machine = await trial.lease_configured("baseline")
    first = (await trial.drain(machine, 0)).must_be_ok().operation_id
    must_equal((await trial.drain(machine, 0)).must_be_ok().operation_id, first, "operation id")
    await trial.settles(machine, S.IDLE, DRAIN)


@baseline("DeleteIdempotent", "A repeated Delete has the original id", creates=1, gates=("delete",))
async def delete_idempotent(trial: Trial) -> None:
    machine = await trial.lease_idle()
    first = (await trial.delete(machine)).must_be_ok().operation_id
    must_equal((await trial.delete(machine)).must_be_ok().operation_id, first, "operation id")
    await trial.settles(machine, S.SPECULATIVE, SETTLE)


@baseline("GetUnknownMachine", "Get of an unknown machine is NOT_FOUND")
async def get_unknown(trial: Trial) -> None:
    (await trial.look(trial.unknown_id())).must_be(Code.NOT_FOUND)


@baseline("DeleteUnknownMachine", "Delete of an unknown machine is NOT_FOUND or UNIMPLEMENTED")
async def delete_unknown(trial: Trial) -> None:
    answer = await trial.delete(trial.unknown_id())
    answer.must_be(Code.NOT_FOUND, Code.UNIMPLEMENTED)


@baseline("ListFiltersByState", "A state filter gives that state only", machines=1)
async def list_filters(trial: Trial) -> None:
    machine = await trial.lease_idle()
    idle = await trial.listing([S.IDLE])
    must(all(record.state is S.IDLE for record in idle.records), "List(IDLE) holds another state")
    idle.find(machine)
    must(machine not in (await trial.listing([S.CONFIGURED])).ids, "List(CONFIGURED) is wrong")


@baseline("ListMaxResults", "max_results is a ceiling")
async def list_max_results(trial: Trial) -> None:
    found = await trial.listing(cap=1)
    must(len(found.records) <= 1, f"max_results 1 gave {len(found.records)} machines")
    must_have_no_duplicates(await trial.listing())


@baseline("LabelShape", "Instance type is set and labels do not repeat fields")
async def label_shape(trial: Trial) -> None:
    for record in (await trial.listing()).records:
        must(bool(record.instance_type), f"{record.id} has no instance_type")
        wrong = FORBIDDEN_LABELS.intersection(record.labels)
        must(not wrong, f"{record.id} repeats fields as labels: {sorted(wrong)}")


@baseline("CostFieldBounds", "Prices and probabilities are within bounds")
async def cost_field_bounds(trial: Trial) -> None:
    must_have_sane_costs((await trial.listing()).records)


@baseline(
    "ListRevisionAdvances",
    "The revision moves with a change",
    machines=1,
    slots_first=True,
    gates=("since_revision",),
    exclusive=True,
)
async def list_revision_advances(trial: Trial) -> None:
    before = (await trial.listing()).revision
    slot = trial.has_slot
    machine = await trial.lease_idle()
    if not slot:
        await trial.bind(machine, "baseline")
    patience = trial.patience(trial.pace.limit(REVISION))
    while True:
        delta = await trial.listing(since=before)
        if delta.revision != before and machine in delta.ids:
            return
        must(not patience.spent(), f"{machine} is not in the delta of its Create")
        await trial.clock.sleep(trial.pace.poll)


@baseline("DrainOnSpeculative", "Drain on a slot is rejected, never as stale", creates=1)
async def drain_on_speculative(trial: Trial) -> None:
    machine = trial.lease_speculative()
    (await trial.drain(machine, 0)).must_be_rejected()
    must_equal((await trial.get(machine)).state, S.SPECULATIVE, "state")


@baseline("DeleteOnConfigured", "Delete on a bound machine is rejected", machines=1)
async def delete_on_configured(trial: Trial) -> None:
    machine = await trial.lease_configured("baseline")
    (await trial.delete(machine)).must_be_rejected()
    must_equal((await trial.get(machine)).state, S.CONFIGURED, "state")


@baseline("TransitionalStateObservability", "What is seen on the way is the way", machines=1)
async def transitional_states(trial: Trial) -> None:
    machine = await trial.lease_idle()
    ack = (await trial.configure(machine, "baseline")).must_be_ok()
    seen = {ack.machine.state}
    end = trial.clock.now() + OBSERVE
    while trial.clock.now() < end and S.CONFIGURED not in seen:
        answer = await trial.look(machine)
        seen |= {answer.machine.state} if answer.ok else set()
        await trial.clock.sleep(OBSERVE_POLL)
    wrong = seen - {S.CONFIGURING, S.CONFIGURED}
    must(not wrong, f"Configure showed {sorted(state.name for state in wrong)}")
    await trial.settles(machine, S.CONFIGURED, SETTLE)


@baseline("DrainGraceTimeout", "A Drain with grace ends in time", machines=1)
async def drain_grace_timeout(trial: Trial) -> None:
    machine = await trial.lease_configured("baseline")
    (await trial.drain(machine, 1)).must_be_ok()
    must_be_clean(await trial.settles(machine, S.IDLE, DRAIN))


@baseline("FencingUnknownShardAccepted", "A shard's first token passes", machines=1)
async def unknown_shard(trial: Trial) -> None:
    machine = await trial.lease_idle()
    answer = await trial.create(machine, Token(trial.shards.fresh(), 1, 1))
    must(not answer.stale, f"a first token must pass; it got {answer}")


@baseline("FencingStaleEpochRejected", "An older epoch is stale", machines=1)
async def stale_epoch(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    await trial.create(machine, Token(shard, 5, 1))
    (await trial.create(machine, Token(shard, 4, 99))).must_be_stale()


@baseline("FencingStaleSequenceRejected", "An older or equal sequence is stale", machines=1)
async def stale_sequence(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    await trial.create(machine, Token(shard, 5, 5))
    (await trial.create(machine, Token(shard, 5, 5))).must_be_stale()
    (await trial.create(machine, Token(shard, 5, 4))).must_be_stale()


@baseline("FencingNewEpochResetsSequence", "A new epoch starts counting again", machines=1)
async def new_epoch(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    await trial.create(machine, Token(shard, 5, 500))
    answer = await trial.create(machine, Token(shard, 6, 1))
    must(not answer.stale, f"(6,1) is newer than (5,500); it got {answer}")


@baseline("FencingReadsUnaffected", "A fenced shard can read", machines=1)
async def reads_unaffected(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    await trial.create(machine, Token(shard, 5, 5))
    (await trial.create(machine, Token(shard, 1, 1))).must_be_stale()
    must_equal((await trial.get(machine)).id, machine, "id")
    (await trial.listing()).find(machine)


@baseline("MetadataEchoedOnGetAndList", "Metadata comes back on Get and List", machines=1)
async def metadata_echoed(trial: Trial) -> None:
    metadata = {"bigfleet.lucy.sh/assigned-priority": "7", "k": "v"}
    machine = await trial.lease_configured("baseline", metadata)
    must_be_bound(await trial.get(machine), "baseline", metadata)
    must_be_bound((await trial.listing()).find(machine), "baseline", metadata)


@baseline("MetadataAndBindingClearOnDrain", "Drain clears metadata and binding", machines=1)
async def metadata_clears(trial: Trial) -> None:
    machine = await trial.lease_configured("baseline", {"k": "v"})
    must_be_clean(await unbound(trial, machine))


@baseline("MetadataUnknownKeysPreservedVerbatim", "Unknown keys are kept", machines=1)
async def unknown_keys(trial: Trial) -> None:
    metadata = {"example.com/unknown": " as is \t", "x": "", "\u00fc": "\u4e2d"}
    machine = await trial.lease_configured("baseline", metadata)
    must_be_bound(await trial.get(machine), "baseline", metadata)
