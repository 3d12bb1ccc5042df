"""Transition matrix and errors: what is refused is refused whole, and never as stale."""

from bigfleet.conformance.claims import must, must_be_bound, must_be_clean, must_equal
from bigfleet.conformance.contract import EMPTY_ID, UNKNOWN_ID, Check, each, on
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, Token

ERRORS = Area("Transition matrix and errors")
LARGEST = 2**63 - 1
MIB = 1024 * 1024


@ERRORS.row(
    "B201",
    "Create on a CONFIGURED machine is rejected and leaves it bound",
    mutant="Create resets C",
    machines=1,
    judges=on("Create", S.CONFIGURED),
    order=(Check.POSITION,),
)
async def create_on_configured(trial: Trial) -> None:
    machine = await trial.lease_configured("b201")
    (await trial.create(machine)).must_be_rejected()
    record = await trial.holds(machine, S.CONFIGURED, trial.pace.hold_error)
    must_equal(record.cluster, "b201", "cluster after the rejected Create")


@ERRORS.row(
    "B202",
    "Configure on a SPECULATIVE machine is rejected and binds nothing",
    mutant="Configure accepts S",
    creates=1,
    judges=on("Configure", S.SPECULATIVE),
    order=(Check.POSITION,),
)
async def configure_on_speculative(trial: Trial) -> None:
    machine = trial.lease_speculative()
    (await trial.configure(machine, "b202", {"k": "v"})).must_be_rejected()
    record = await trial.holds(machine, S.SPECULATIVE, trial.pace.hold_error)
    must_equal(record.cluster, "", "cluster after the rejected Configure")
    must_equal(dict(record.shard_metadata), {}, "metadata after the rejected Configure")


@ERRORS.row(
    "B203",
    "Drain on an IDLE machine changes nothing and is never called stale",
    mutant="FP for position",
    machines=1,
    judges=on("Drain", S.IDLE),
    order=(Check.POSITION,),
)
async def drain_on_idle(trial: Trial) -> None:
    machine = await trial.lease_idle()
    answer = await trial.drain(machine)
    must(not answer.stale, f"Drain on IDLE is out of position, not stale; it answered {answer}")
    await trial.holds(machine, S.IDLE, trial.pace.hold_error)


@ERRORS.row(
    "B204",
    "Delete on SPECULATIVE and on CONFIGURED changes nothing and is never called stale",
    mutant="Delete accepts C",
    machines=2,
    slots_first=True,
    also=("cloud",),
    judges=on("Delete", S.SPECULATIVE, S.CONFIGURED),
    order=(Check.CAPABILITY,),
)
async def delete_out_of_position(trial: Trial) -> None:
    if trial.has_slot:
        slot = trial.lease_speculative()
        answer = await trial.delete(slot)
        must(not answer.stale, f"Delete on SPECULATIVE must not be stale; it answered {answer}")
        judge_capability(trial, answer.code)
        await trial.holds(slot, S.SPECULATIVE, trial.pace.hold_error)
    bound = await trial.lease_configured("b204")
    answer = (await trial.delete(bound)).must_be_rejected()
    judge_capability(trial, answer.code)
    record = await trial.holds(bound, S.CONFIGURED, trial.pace.hold_error)
    must_equal(record.cluster, "b204", "cluster after the rejected Delete")


def judge_capability(trial: Trial, code: Code) -> None:
    if trial.settings.bare_metal:
        must_equal(code, Code.UNIMPLEMENTED, "code of Delete on a bare-metal provider")


@ERRORS.row(
    "B205",
    "A repeat at the target answers OK and restarts nothing",
    mutant="repeat restarts work",
    machines=1,
    slots_first=True,
    judges=(*on("Create", S.IDLE), *on("Configure", S.CONFIGURED)),
    order=(Check.IDEMPOTENCY,),
)
async def repeats_restart_nothing(trial: Trial) -> None:
    slot = trial.has_slot
    machine = await trial.lease_idle()
    if slot:
        (await trial.create(machine)).must_be_ok()
        await trial.holds(machine, S.IDLE, trial.pace.hold_error, closely=True)
    await trial.bind(machine, "b205")
    again = (await trial.configure(machine, "b205")).must_be_ok()
    must_equal(again.machine.state, S.CONFIGURED, "state in the ack of the repeat")
    await trial.holds(machine, S.CONFIGURED, trial.pace.hold_error, closely=True)


@ERRORS.row(
    "B206",
    "A repeat carries the operation id of the original",
    mutant="repeat mints id",
    machines=1,
    slots_first=True,
    judges=(*on("Create", S.IDLE), *on("Configure", S.CONFIGURED)),
    order=(Check.IDEMPOTENCY,),
)
async def repeats_keep_their_id(trial: Trial) -> None:
    machine, slot = trial.lease_fresh()
    ids = []
    if slot:
        ids.append((await trial.create(machine)).must_be_ok().operation_id)
        await trial.settles(machine, S.IDLE)
        again = (await trial.create(machine)).must_be_ok().operation_id
        must_equal(again, ids[0], "operation id of the Create repeat")
    ids.append((await trial.configure(machine, "b206")).must_be_ok().operation_id)
    await trial.settles(machine, S.CONFIGURED)
    again = (await trial.configure(machine, "b206")).must_be_ok().operation_id
    must_equal(again, ids[-1], "operation id of the Configure repeat")
    must(all(ids), "operation ids must not be empty")
    must(len(set(ids)) == len(ids), f"Create and Configure share the operation id {ids[0]}")


@ERRORS.row(
    "B207",
    "A mutation of an unknown machine is NOT_FOUND and creates no record",
    mutant="unknown id auto-created",
    judges=each(("Create", "Configure", "Drain"), UNKNOWN_ID),
    order=(Check.EXISTENCE,),
)
async def unknown_machines(trial: Trial) -> None:
    unknown = trial.unknown_id()
    (await trial.create(unknown)).must_be(Code.NOT_FOUND)
    (await trial.configure(unknown, "b207")).must_be(Code.NOT_FOUND)
    (await trial.drain(unknown)).must_be(Code.NOT_FOUND)
    (await trial.look(unknown)).must_be(Code.NOT_FOUND)


@ERRORS.row(
    "B208",
    "An empty machine id is INVALID_ARGUMENT",
    mutant='"" gives NF',
    judges=each(("Create", "Configure", "Drain", "Get"), EMPTY_ID),
    order=(Check.ARGUMENTS,),
)
async def empty_ids(trial: Trial) -> None:
    (await trial.look("")).must_be(Code.INVALID_ARGUMENT)
    (await trial.create("")).must_be(Code.INVALID_ARGUMENT)
    (await trial.configure("", "b208")).must_be(Code.INVALID_ARGUMENT)
    (await trial.drain("")).must_be(Code.INVALID_ARGUMENT)


@ERRORS.row(
    "B209",
    "512 keys of metadata come back verbatim or are refused whole",
    mutant="map cut to 256 keys",
    machines=1,
    order=(Check.ARGUMENTS,),
)
async def many_keys(trial: Trial) -> None:
    machine = await trial.lease_idle()
    metadata = {f"key-{n:03d}": f"{n:03d}".ljust(1024, "x") for n in range(512)}
    answer = await trial.configure(machine, "b209", metadata)
    if answer.must_be(Code.OK, Code.INVALID_ARGUMENT).ok:
        must_be_bound(await trial.settles(machine, S.CONFIGURED, 20), "b209", metadata)
        await trial.release(machine)
    else:
        must_be_clean(await trial.holds(machine, S.IDLE, trial.pace.hold_error))


@ERRORS.row(
    "B210",
    "Negative grace is INVALID_ARGUMENT or taken as none",
    mutant="negative grace gives FP",
    machines=1,
    order=(Check.ARGUMENTS,),
)
async def negative_grace(trial: Trial) -> None:
    machine = await trial.lease_configured("b210")
    if (await trial.drain(machine, -5)).must_be(Code.OK, Code.INVALID_ARGUMENT).ok:
        must_equal((await trial.settles(machine, S.IDLE, 20)).cluster, "", "cluster after Drain")
    else:
        await trial.holds(machine, S.CONFIGURED, trial.pace.hold_error)


@ERRORS.row(
    "B211",
    "A negative token is INVALID_ARGUMENT or compared, never stale on first contact",
    mutant="negative token gives FP",
    machines=3,
    slots_first=True,
    order=(Check.ARGUMENTS,),
)
async def negative_tokens(trial: Trial) -> None:
    for epoch, sequence in ((-1, 1), (1, -1), (-7, -3)):
        machine, slot = trial.lease_fresh()
        answer = await trial.create(machine, Token(trial.shards.fresh(), epoch, sequence))
        must(not answer.stale, f"({epoch}, {sequence}) is a first contact; it got {answer}")
        if not slot:
            continue
        if answer.must_be(Code.OK, Code.INVALID_ARGUMENT).ok:
            await trial.settles(machine, S.IDLE)
        else:
            must_equal((await trial.get(machine)).state, S.SPECULATIVE, "state after refusal")


@ERRORS.row(
    "B212",
    "The largest token is a legal mark and does not wrap",
    mutant="mark wraps",
    machines=1,
)
async def the_largest_token(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    largest = Token(shard, LARGEST, LARGEST)
    (await trial.configure(machine, "b212", token=largest)).must_be_ok()
    record = await trial.settles(machine, S.CONFIGURED, 20)
    must_equal(record.cluster, "b212", "cluster")
    (await trial.create(machine, largest)).must_be_stale()
    (await trial.create(machine, Token(shard, LARGEST - 1, LARGEST))).must_be_stale()


@ERRORS.row(
    "B213",
    "A blob of 3 MiB is taken or refused whole",
    mutant="reject leaves CONFIGURING",
    machines=1,
    order=(Check.ARGUMENTS,),
)
async def a_big_blob(trial: Trial) -> None:
    machine = await trial.lease_idle()
    answer = await trial.configure(machine, "b213", blob=b"\x00\xff\x7f" * MIB)
    if answer.must_be(Code.OK, Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED).ok:
        must_equal((await trial.settles(machine, S.CONFIGURED, 20)).cluster, "b213", "cluster")
    else:
        must_be_clean(await trial.holds(machine, S.IDLE, trial.pace.hold_error))


@ERRORS.row(
    "B214",
    "Every new trip has an operation id of its own",
    mutant="one id per kind",
    machines=1,
    slots_first=True,
    order=(Check.ACCEPT,),
)
async def every_trip_has_its_id(trial: Trial) -> None:
    machine, slot = trial.lease_fresh()
    ids = []
    if slot:
        ids.append((await trial.create(machine)).must_be_ok().operation_id)
        await trial.settles(machine, S.IDLE)
    for number in range(2):
        ids.append((await trial.configure(machine, f"b214-{number}")).must_be_ok().operation_id)
        await trial.settles(machine, S.CONFIGURED)
        ids.append((await trial.drain(machine, 0)).must_be_ok().operation_id)
        await trial.settles(machine, S.IDLE)
    must(len(set(ids)) == len(ids), f"{len(ids)} trips must have as many operation ids; seen {ids}")
    again = (await trial.drain(machine, 0)).must_be_ok().operation_id
    must_equal(again, ids[-1], "operation id of the Drain repeat")


@ERRORS.row(
    "B215",
    "Get of an unknown machine is NOT_FOUND, Delete of it NOT_FOUND or UNIMPLEMENTED",
    mutant="Get gives empty record",
    also=("cloud",),
    judges=each(("Get", "Delete"), UNKNOWN_ID),
    order=(Check.EXISTENCE,),
)
async def unknown_to_get_and_delete(trial: Trial) -> None:
    unknown = trial.unknown_id()
    (await trial.look(unknown)).must_be(Code.NOT_FOUND)
    answer = (await trial.delete(unknown)).must_be(Code.NOT_FOUND, Code.UNIMPLEMENTED)
    judge_capability(trial, answer.code)
