"""Timeouts and failure: what goes wrong ends in FAILED, says why, and stays there for every RPC."""

from bigfleet.conformance.broker import FAULT_CREATE
from bigfleet.conformance.caller import Caller
from bigfleet.conformance.claims import WentFailed, must, must_equal
from bigfleet.conformance.contract import Check, on
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import MachineRecord

FAILURE = Area("Timeouts and failure", suite="fault", runs_on="fault", profiles=("fault",))
#: One for the row, the others for its way there.
MACHINES = 3


async def fails(trial: Caller, machine: str, within: float) -> MachineRecord:
    record = await trial.reaches(machine, (S.FAILED,), trial.pace.limit(within))
    must(bool(record.last_error), f"{machine} is FAILED and does not say why")
    return record


async def configured_with(trial: Trial, cluster: str, then: S | None = None) -> str:
    """A machine with an accepted Configure that carries a fault selector, where wanted done.

    What leads up to the fault is not judged here: the timeout of this lane is short, and on a busy
    machine an honest Create may miss it.
    """
    for spare in reversed(range(MACHINES)):
        try:
            machine = await trial.lease_idle()
            (await trial.configure(machine, cluster)).must_be_ok()
            if then is not None:
                await trial.settles(machine, then)
        except WentFailed:
            if not spare:
                raise
        else:
            return machine
    raise AssertionError("the last machine returned or raised")


@FAILURE.row(
    "B701",
    "A Configure that errors ends FAILED with its reason",
    mutant="error reverts to I",
    machines=MACHINES,
    gates=("fault",),
)
async def configure_errors(trial: Trial) -> None:
    machine = await configured_with(trial, "fault-error")
    await fails(trial, machine, 7)
    await trial.holds(machine, S.FAILED, trial.pace.hold_lifecycle)


@FAILURE.row(
    "B702",
    f"A Create on a {FAULT_CREATE}=error slot ends FAILED with its reason",
    mutant="create error ignored",
    gates=("fault",),
)
async def create_errors(trial: Trial) -> None:
    machine = trial.lease_fault_slot()
    (await trial.create(machine)).must_be_ok()
    await fails(trial, machine, 7)
    await trial.holds(machine, S.FAILED, trial.pace.hold_lifecycle)


@FAILURE.row(
    "B703",
    "A Configure that never ends is FAILED at its timeout",
    mutant="no timeout",
    machines=MACHINES,
    gates=("fault",),
)
async def configure_times_out(trial: Trial) -> None:
    await fails(trial, await configured_with(trial, "fault-timeout"), 5)


@FAILURE.row(
    "B704",
    "A success after the timeout is dropped",
    mutant="late success applied",
    machines=MACHINES,
    gates=("fault",),
)
async def late_successes_are_dropped(trial: Trial) -> None:
    machine = await configured_with(trial, "fault-slow-ok")
    await fails(trial, machine, 5)
    await trial.clock.sleep(trial.pace.limit(4))
    record = await trial.get(machine)
    must_equal(record.state, S.FAILED, f"state of {machine} after the late success")
    must(bool(record.last_error), f"{machine} is FAILED and does not say why")


@FAILURE.row(
    "B705",
    "No Configure leads out of FAILED",
    mutant="F restarts",
    machines=MACHINES,
    gates=("fault",),
    judges=on("Configure", S.FAILED),
    order=(Check.POSITION,),
)
async def failed_stays_failed(trial: Trial) -> None:
    machine = await configured_with(trial, "fault-error")
    before = await fails(trial, machine, 7)
    (await trial.configure(machine, "b705-elsewhere")).must_be_rejected()
    after = await trial.holds(machine, S.FAILED, trial.pace.hold_error)
    must_equal(after.last_error, before.last_error, "last_error after the rejected Configure")


@FAILURE.row(
    "B706",
    "A Drain that errors does not hang",
    mutant="drain error hangs",
    machines=MACHINES,
    gates=("fault",),
)
async def drain_errors(trial: Trial) -> None:
    machine = await configured_with(trial, "fault-drain-error", S.CONFIGURED)
    (await trial.drain(machine, 0)).must_be_ok()
    record = await trial.reaches(machine, (S.FAILED, S.IDLE), trial.pace.limit(7))
    if record.state is S.FAILED:
        must(bool(record.last_error), f"{machine} is FAILED and does not say why")
    await trial.holds(machine, record.state, trial.pace.hold_lifecycle)


@FAILURE.row(
    "B707",
    "last_error is the same on every read",
    mutant="last_error rewritten",
    machines=MACHINES,
    gates=("fault",),
)
async def last_error_is_constant(trial: Trial) -> None:
    machine = await configured_with(trial, "fault-error")
    first = await fails(trial, machine, 7)
    for _ in range(3):
        must_equal((await trial.get(machine)).last_error, first.last_error, "last_error on Get")
    listed = (await trial.listing([S.FAILED])).find(machine)
    must_equal(listed.last_error, first.last_error, "last_error on List")


@FAILURE.row(
    "B708",
    "A machine whose node never gets Ready is never CONFIGURED",
    mutant="no readiness gate",
    machines=MACHINES,
    gates=("fault",),
)
async def readiness_is_waited_for(trial: Trial) -> None:
    machine = await configured_with(trial, "fault-readiness-block")
    end = trial.clock.now() + trial.pace.limit(1.5)
    while trial.clock.now() < end:
        answer = await trial.look(machine)
        if answer.ok:
            seen = answer.machine.state
            must(seen is not S.CONFIGURED, f"{machine} is CONFIGURED without a Ready node")
        await trial.clock.sleep(trial.pace.poll)
    await fails(trial, machine, 7)
