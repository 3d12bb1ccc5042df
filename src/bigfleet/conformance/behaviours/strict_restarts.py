"""Strict rows that boot, stop and kill: crashes, damaged state, certificates."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

from bigfleet.conformance.behaviours.durability import (
    durable_boot,
    free_machines,
    must_resolve,
    prepared,
    to_idle,
)
from bigfleet.conformance.behaviours.failure import fails
from bigfleet.conformance.caller import Answer, Caller
from bigfleet.conformance.claims import NotServed, must, must_equal
from bigfleet.conformance.launchers import Boot, CannotBoot, Certificates
from bigfleet.conformance.pace import best_p99, timed
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, Rejected, Token
from bigfleet.wire.lines import TlsFiles

RESTARTS = Area(
    "Strict, with restarts", suite="strict", runs_on="own", profiles=("strict",), exclusive=True
)
KILLS = 50
#: So many at once, and so many times, until a kill evidently hits a machine under way.
ABREAST, TRIES = 8, 3
TARGETS = {
    "Create": S.IDLE, "Configure": S.CONFIGURED, "Drain": S.IDLE, "Delete": S.SPECULATIVE
}  # fmt: skip
CUTS = 10
MARKS, GETS = 50_000, 200
MARKS_AT_ONCE = 64
LARGEST_GROWTH = 64 * 1024 * 1024
STOPPING = 30.0
ALICE, BOB = "alice", "bob"


@RESTARTS.row("X07", "FAILED has a way out", mutant="F is for ever")
async def failed_has_an_exit(trial: Trial) -> None:
    hold = trial.settings.failed_hold or trial.pace.transition_timeout
    boot = Boot(
        "fault",
        seed_count=8,
        transition_timeout=trial.pace.transition_timeout,
        faults=True,
        more=(f"--failed-hold={hold:g}s",),
    )
    try:
        running, caller = await trial.boot(boot)
    except CannotBoot as problem:
        raise NotServed(f"the provider does not take --failed-hold: {problem}") from problem
    if not running.takes_faults:
        raise NotServed("the provider does not take --fault-selectors")
    machine = (await free_machines(caller, 1))[0]
    await to_idle(caller, machine)
    (await caller.configure(machine, "fault-error", {"k": "v"})).must_be_ok()
    await fails(caller, machine, 7)
    patience = trial.patience(hold + trial.pace.limit(10))
    while not await left_failed(caller, machine):
        must(not patience.spent(), f"{machine} is still FAILED {hold:g} s later")
        await trial.clock.sleep(trial.pace.poll)


async def left_failed(caller: Caller, machine: str) -> bool:
    record = (await caller.listing()).by_id().get(machine)
    if record is None:
        return True
    if record.state not in (S.IDLE, S.SPECULATIVE):
        return False
    must_equal(
        (record.last_error, record.cluster, dict(record.shard_metadata)),
        ("", "", {}),
        f"(last_error, cluster, metadata) of {machine} after it left FAILED",
    )
    return True


async def ready_for(caller: Caller, machine: str, kind: str) -> None:
    """Bring the machine to the start of the edge."""
    if kind == "Create":
        return
    await to_idle(caller, machine)
    if kind == "Drain":
        (await caller.configure(machine, "x08", {"k": "v"})).must_be_ok()
        await caller.settles(machine, S.CONFIGURED)


async def asked(caller: Caller, machine: str, kind: str) -> Answer:
    match kind:
        case "Create":
            return await caller.create(machine)
        case "Configure":
            return await caller.configure(machine, "x08", {"k": "v"})
        case "Drain":
            return await caller.drain(machine, 0)
        case _:
            return await caller.delete(machine)


@RESTARTS.row(
    "X08",
    "A kill in any transitional state leaves nothing stuck",
    mutant="stuck DELETING",
    longest=240,
)
async def kills_in_every_state(trial: Trial) -> None:
    caught: dict[str, int] = {}
    for kind, target in TARGETS.items():
        for _ in range(TRIES):
            caught[kind] = await killed_on_the_way(trial, kind, target)
            if caught[kind]:
                break
    trial.notes["caught"] = caught


async def killed_on_the_way(trial: Trial, kind: str, target: S) -> int:
    """Kill behind the first ack of several; how many machines were evidently under way."""
    boot = durable_boot(trial)
    running, caller = await trial.boot(boot)
    machines = await free_machines(caller, 1, at_most=ABREAST)
    if kind == "Create" and not await is_slot(caller, machines[0]):
        return ABREAST  # a free pool is never CREATING
    await asyncio.gather(*(ready_for(caller, machine, kind) for machine in machines))
    calls = [asyncio.ensure_future(asked(caller, machine, kind)) for machine in machines]
    done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    await running.kill()
    answers = await asyncio.gather(*calls)
    first = next(iter(done)).result()
    if first.code is Code.UNIMPLEMENTED:
        return ABREAST  # nor is one without Delete ever DELETING
    first.must_be_ok()
    running, again = await trial.boot(boot)
    seen = [await again.get(machine) for machine in machines]
    await asyncio.gather(*(must_resolve(again, m, trial.pace.limit(60)) for m in machines))
    await running.kill()
    # What was accepted and is not there yet, or ended FAILED, was hit by the kill.
    pairs = zip(answers, seen, strict=True)
    return sum(answer.ok and record.state is not target for answer, record in pairs)


@RESTARTS.row(
    "X09", "What was acknowledged is known after a kill", mutant="ack before write", longest=600
)
async def acks_are_promises(trial: Trial) -> None:
    boot = durable_boot(trial)
    running, caller = await trial.boot(boot)
    for _ in range(max(2, round(KILLS * trial.settings.effort))):
        machine = (await free_machines(caller, 1))[0]
        token = Token(trial.shards.fresh(), 4, 2)
        if await is_slot(caller, machine):
            first = await caller.create(machine, token)
        else:
            first = await caller.configure(machine, "x09", token=token)
        first.must_be_ok()
        await running.kill()
        running, caller = await trial.boot(boot)
        await must_be_kept(caller, machine, token, first)


async def must_be_kept(caller: Caller, machine: str, token: Token, first: Answer) -> None:
    replay = await caller.create(machine, token)
    must(replay.stale, f"the mark of {machine} is forgotten; the replay got {replay}")
    state = (await caller.get(machine)).state
    must(state is not S.SPECULATIVE, f"the accepted {first.method} of {machine} is forgotten")
    if state is S.IDLE and first.method == "Create":
        repeat = (await caller.create(machine)).must_be_ok()
        must_equal(repeat.operation_id, first.operation_id, "operation id after the kill")


async def is_slot(caller: Caller, machine: str) -> bool:
    return (await caller.get(machine)).state is S.SPECULATIVE


def state_files(path: Path) -> list[Path]:
    """The state file and what lies beside it, such as a write-ahead log."""
    return sorted(path.parent.glob(f"{path.name}*"))


@RESTARTS.row("X10", "A truncated state never gives an empty fleet", mutant="damage starts empty")
async def truncated_states(trial: Trial) -> None:
    boot = durable_boot(trial)
    running, caller = await trial.boot(boot)
    before = await prepared(trial, caller, boot)
    await running.terminate()
    if await running.exit_code(trial.pace.limit(STOPPING)) is None:
        await running.kill()
    assert boot.state is not None
    whole = boot.state.read_bytes()
    for cut in range(1, CUTS + 1):
        folder = trial.settings.scratch / f"x10-{trial.clock.wall()}-{cut}"
        folder.mkdir(parents=True)
        path = folder / boot.state.name
        path.write_bytes(whole[: len(whole) * cut // (CUTS + 1)])
        try:
            running, again = await trial.boot(Boot("durable", boot.seed_count, path))
        except CannotBoot:
            continue  # refused, and that is right
        found = set((await again.listing()).ids)
        lost = {record.id for record in before.snapshot.records} - found
        must(
            not lost, f"after cut {cut} of {CUTS} the provider starts without {len(lost)} machines"
        )
        await running.kill()


@RESTARTS.row(
    "X11", "A cursor from a lost future gives the full list", mutant="future cursor gives nothing"
)
async def cursors_from_the_future(trial: Trial) -> None:
    boot = durable_boot(trial)
    assert boot.state is not None
    running, caller = await trial.boot(boot)
    await prepared(trial, caller, boot)
    await running.kill()
    backup = trial.settings.scratch / f"x11-{trial.clock.wall()}"
    copied(state_files(boot.state), backup)
    running, caller = await trial.boot(boot)
    for machine in await free_machines(caller, 3):
        await to_idle(caller, machine)
    cursor = (await caller.listing()).revision
    if not cursor:
        raise NotServed("the provider has no cursors")
    await running.kill()
    for path in state_files(boot.state):
        path.unlink()
    copied(sorted(backup.iterdir()), boot.state.parent)
    _, again = await trial.boot(boot)
    everything = set((await again.listing()).ids)
    found = set((await again.listing(since=cursor)).ids)
    must(found == everything, f"the lost cursor gave {len(found)} of {len(everything)} machines")


def copied(paths: Sequence[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        shutil.copy2(path, folder / path.name)


@RESTARTS.row("X12", "SIGTERM ends the provider in order", mutant="serving to the end")
async def orderly_ends(trial: Trial) -> None:
    running, caller = await trial.boot(Boot("core", seed_count=32))
    machine = (await free_machines(caller, 1))[0]
    calls = [asyncio.ensure_future(caller.look(machine)) for _ in range(16)]
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    await running.terminate()
    patience = trial.patience(trial.pace.limit(10))
    while (health := await health_of(caller)) == "SERVING":
        must(not patience.spent(), "health still says SERVING after SIGTERM")
        await trial.clock.sleep(trial.pace.poll)
    trial.notes["health"] = health
    for answer in await asyncio.gather(*calls):
        # What the server had not yet taken may be turned away, but must be told so.
        answer.must_be(Code.OK, Code.UNAVAILABLE, Code.CANCELLED)
    code = await running.exit_code(STOPPING)
    must_equal(code, 0, "exit code within 30 s of SIGTERM")


async def health_of(caller: Caller) -> str:
    try:
        return await caller.client.health("")
    except Rejected as rejected:
        return str(rejected.code)


@RESTARTS.row(
    "X13", "mTLS keeps strangers and impostors out", mutant="any name speaks for any shard"
)
async def mutual_tls(trial: Trial) -> None:
    now = trial.clock.wall()
    certificates = Certificates.made(trial.settings.scratch / f"x13-{now}", now)
    server = certificates.issue("server", "bigfleet://provider")
    alice = certificates.issue("alice", f"bigfleet://shard/{ALICE}")
    stranger = Certificates.made(certificates.folder / "strangers", now)
    outsider = stranger.issue("outsider", f"bigfleet://shard/{ALICE}")
    running, _ = await trial.boot(Boot("core", seed_count=8, tls=server))
    caller = trial.connected(running, alice)
    machine = (await free_machines(caller, 1))[0]
    await must_not_reach(trial.connected(running, None), machine, "plaintext")
    foreign = TlsFiles(outsider.cert, outsider.key, server.ca)
    await must_not_reach(trial.connected(running, foreign), machine, "a foreign certificate")
    impostor = await caller.create(machine, Token(BOB, 1, 1))
    impostor.must_be(Code.PERMISSION_DENIED)
    own = await caller.create(machine, Token(ALICE, 1, 1))
    must(own.code is not Code.PERMISSION_DENIED, f"alice may speak for alice; she got {own}")


async def must_not_reach(caller: Caller, machine: str, how: str) -> None:
    answer = await caller.look(machine)
    must(not answer.ok, f"with {how} the provider must not be reached; it answered")


@RESTARTS.row(
    "X15",
    "Marks on unknown ids cost neither reads nor memory",
    mutant="marks slow down reads",
    longest=600,
)
async def marks_are_cheap(trial: Trial) -> None:
    running, caller = await trial.boot(Boot("core", seed_count=64))
    machine = (await free_machines(caller, 1))[0]
    gets = max(3, round(GETS * trial.settings.effort))

    async def measured() -> list[float]:
        return await timed(trial.clock, gets, lambda: caller.get(machine))

    before = await best_p99(measured)
    memory = running.resident_bytes()
    total = round(MARKS * trial.settings.effort)
    shard = trial.shards.fresh()
    for start in range(0, total, MARKS_AT_ONCE):
        numbers = range(start, min(start + MARKS_AT_ONCE, total))
        calls = [caller.create(f"unknown-{n}", Token(shard, 1, 1)) for n in numbers]
        for answer in await caller.all_at_once(calls):
            answer.must_be(Code.NOT_FOUND)
    # Below ten milliseconds the line is measured, not the provider.
    most = 2 * max(before, 0.010)
    after = await best_p99(measured, enough=most)
    must(
        after <= most,
        f"p99 of Get went from {before * 1000:.1f} to {after * 1000:.1f} ms with {total} marks",
    )
    grown = running.resident_bytes()
    if memory is not None and grown is not None:
        growth = grown - memory
        trial.notes["growth_bytes"] = growth
        must(growth < LARGEST_GROWTH, f"{total} marks took {growth // 2**20} MiB")
