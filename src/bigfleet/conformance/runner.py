"""Runs rows: provider by provider, many at a time where they share, alone where they must.

A row ends in one of four ways and never ends another row; its machines are cleaned before they
are lent again.

Delta debugging: the shortest list of steps, within a budget, that still makes a row fail.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from bigfleet.conformance.broker import Allocation
from bigfleet.conformance.caller import Caller, Shards
from bigfleet.conformance.claims import Broken, NotServed, Skipped
from bigfleet.conformance.launchers import Boot, CannotBoot, KeptProvider, Launcher, Unreachable
from bigfleet.conformance.pace import LONGEST_PATIENCE, Clock, Pace
from bigfleet.conformance.provider_under_test import ProviderUnderTest, open_provider
from bigfleet.conformance.rows import Capabilities, Findings, Row, RowOutcome, RunsOn, Status
from bigfleet.conformance.trial import RowContext, Settings, Trial
from bigfleet.conformance.wirelog import WireLog
from bigfleet.model.provider_calls import Rejected

Fails = Callable[[tuple[int, ...]], Awaitable[bool]]


async def shortest(fails: Fails, total: int, time_left: Callable[[], bool]) -> tuple[int, ...]:
    """Drops ever smaller parts as long as the rest still fails."""
    steps: tuple[int, ...] = tuple(range(total))
    parts = 2
    while len(steps) > 1 and time_left():
        shorter = await _without_a_part(fails, steps, parts, time_left)
        if shorter is not None:
            steps, parts = shorter, max(parts - 1, 2)
        elif parts >= len(steps):
            break
        else:
            parts = min(parts * 2, len(steps))
    return steps


async def _without_a_part(
    fails: Fails, steps: Sequence[int], parts: int, time_left: Callable[[], bool]
) -> tuple[int, ...] | None:
    size = -(-len(steps) // parts)
    for start in range(0, len(steps), size):
        rest = (*steps[:start], *steps[start + size :])
        if not time_left():
            return None
        if rest and await fails(rest):
            return rest
    return None


ORDER: tuple[RunsOn, ...] = ("core", "fault", "own", "scale")
SHORTENING_SECONDS = 30.0


class RunProgress(Protocol):
    """Shows how a run goes on."""

    def preflight(self, need: int, stock: dict[str, int]) -> None:
        """Before the first row: machines the rows would like, and what the provider has."""
        ...

    def start(self, row: Row) -> None: ...

    def outcome(self, outcome: RowOutcome) -> None: ...


@dataclass(frozen=True, slots=True)
class Run:
    launcher: Launcher
    clock: Clock
    settings: Settings
    pace: Pace = field(default_factory=Pace)
    parallel: int = 8
    progress: RunProgress | None = None
    kept_provider: KeptProvider = field(default_factory=KeptProvider)


async def run_rows(run: Run, rows: Sequence[Row]) -> Findings:
    findings = Findings()
    for name in ORDER:
        batch = [row for row in rows if _runs_on(run, row) == name]
        if not batch:
            continue
        if name == "own":
            await _run_own(run, batch, findings)
        else:
            await _run_station(run, name, batch, findings)
    order = {row.id: place for place, row in enumerate(rows)}
    findings.outcomes.sort(key=lambda outcome: order[outcome.row.id])
    return findings


def _runs_on(run: Run, row: Row) -> RunsOn:
    return "own" if row.boots and run.launcher.why_no_boot() is None else row.runs_on


async def _run_station(run: Run, name: RunsOn, rows: Sequence[Row], findings: Findings) -> None:
    try:
        provider = await _opened(run, name)
    except (NotServed, CannotBoot) as problem:
        if name == "core" and isinstance(problem, CannotBoot):
            raise  # nothing can be said about a provider that does not even start
        for row in rows:
            findings.outcomes.append(RowOutcome(row, "not_implemented", str(problem)))
            if run.progress is not None:
                run.progress.outcome(findings.outcomes[-1])
        return
    if name == "core" or not findings.outcomes:
        findings.capabilities = provider.capabilities
        findings.stock = provider.broker.stock
        findings.need = _need(rows, provider.capabilities)
        if run.progress is not None:
            run.progress.preflight(findings.need, findings.stock)
    elif name == "fault":
        findings.capabilities.fault = provider.capabilities.fault
    try:
        await _run_together(run, provider, [r for r in rows if not r.exclusive], findings)
        for row in rows:
            if row.exclusive:
                await _reported(run, row, provider, findings)
    finally:
        await provider.close()


async def _opened(run: Run, name: RunsOn) -> ProviderUnderTest:
    running = await run.launcher.boot(_boot(run, name))
    faults = name == "fault" and running.takes_faults
    try:
        return await open_provider(run.launcher, running, run.clock, run.pace, faults=faults)
    except Broken as broken:
        raise Unreachable(f"{running.address} does not answer as a provider: {broken}") from broken


def _need(rows: Sequence[Row], can: Capabilities) -> int:
    """Slots that must be there: without Delete none comes back."""
    largest = max((row.creates + row.machines for row in rows), default=0)
    if can.delete or not can.create:
        return largest
    return max(largest, sum(row.creates for row in rows))


async def _run_together(
    run: Run, provider: ProviderUnderTest, rows: Sequence[Row], findings: Findings
) -> None:
    room = asyncio.Semaphore(run.parallel)

    async def one(row: Row) -> None:
        async with room:
            await _reported(run, row, provider, findings)

    await asyncio.gather(*(one(row) for row in rows))


async def _run_own(run: Run, rows: Sequence[Row], findings: Findings) -> None:
    for row in rows:
        if row.inherits and (await _reported(run, row, None, findings)).status != "passed":
            await run.kept_provider.close()
    await run.kept_provider.close()
    for row in rows:
        if not row.inherits:
            await _reported(run, row, None, findings)


def _boot(run: Run, name: RunsOn) -> Boot:
    settings = run.settings
    if name == "fault":
        return Boot(
            "fault",
            seed_count=settings.seed_count,
            transition_timeout=run.pace.transition_timeout,
            faults=True,
        )
    if name == "scale":
        return Boot("scale", seed_count=settings.scale_seed)
    return Boot("core", seed_count=settings.seed_count)


async def _reported(
    run: Run, row: Row, provider: ProviderUnderTest | None, findings: Findings
) -> RowOutcome:
    outcome = await _tried(run, row, provider, findings)
    if outcome.status == "failed" and row.generated and outcome.steps:
        outcome = replace(outcome, replay=await _replay(run, outcome, provider, findings))
    findings.outcomes.append(outcome)
    if run.progress is not None:
        run.progress.outcome(outcome)
    return outcome


async def _replay(
    run: Run, outcome: RowOutcome, provider: ProviderUnderTest | None, findings: Findings
) -> str:
    """The fewest steps found in half a minute that still fail, as arguments of the command."""
    settings = run.settings
    shown = f"--only {outcome.row.id} --seed {settings.seed}"

    async def fails(steps: tuple[int, ...]) -> bool:
        again = replace(run, settings=replace(settings, steps=steps))
        return (await _tried(again, outcome.row, provider, findings)).status == "failed"

    if settings.steps is None:
        end = run.clock.now() + SHORTENING_SECONDS
        steps = await shortest(fails, outcome.steps, lambda: run.clock.now() < end)
    else:
        steps = settings.steps
    return f"{shown} --steps {','.join(map(str, steps))}"


async def _tried(
    run: Run, row: Row, provider: ProviderUnderTest | None, findings: Findings
) -> RowOutcome:
    if (absent := _why_not(run, row, provider)) is not None:
        return absent
    allocation = None
    if provider is not None:
        try:
            allocation = await provider.broker.admit(
                row.creates, row.machines, slots_first=row.slots_first
            )
        except NotServed as problem:
            return RowOutcome(row, "not_implemented", str(problem))
    try:
        return await _judged(run, row, provider, allocation, findings)
    finally:
        if provider is not None and allocation is not None:
            await provider.broker.give_back(allocation)


def _why_not(run: Run, row: Row, provider: ProviderUnderTest | None) -> RowOutcome | None:
    """The outcome of a row that is not even tried."""
    if run.settings.shared and row.exclusive:
        reason = "needs the provider to itself, and --shared says others use it"
        return RowOutcome(row, "not_implemented", reason)
    if provider is None:
        no_boot = run.launcher.why_no_boot()
        return RowOutcome(row, "not_implemented", no_boot) if no_boot else None
    can = provider.capabilities
    gates = (*row.gates, *(("create",) if row.creates else ()))
    for gate in gates:
        if not can.has(gate):
            status: Status = (
                "not_implemented" if gate in ("fault", "restart", "seed") else "skipped"
            )
            return RowOutcome(row, status, can.why_not(gate))
    return None


async def _judged(
    run: Run,
    row: Row,
    provider: ProviderUnderTest | None,
    allocation: Allocation | None,
    findings: Findings,
) -> RowOutcome:
    began = run.clock.now()
    if run.progress is not None:
        run.progress.start(row)
    log = WireLog(findings.latencies)
    trial = _trial(run, row, provider, allocation, log)
    status, reason = await _ended(run, row, trial)
    return RowOutcome(
        row,
        status,
        reason,
        duration_ms=round((run.clock.now() - began) * 1000, 1),
        wire_log=tuple(log.entries()) if status == "failed" else (),
        notes=trial.notes,
        steps=trial.total_steps,
    )


def _trial(
    run: Run,
    row: Row,
    provider: ProviderUnderTest | None,
    allocation: Allocation | None,
    log: WireLog,
) -> Trial:
    client = provider.client if provider else None
    caller = Caller(client, run.clock, run.pace, Shards(row.id.lower(), run.clock), log)
    if provider is None:
        alone = RowContext(Capabilities(restart=True, seed=True), kept_provider=run.kept_provider)
        return Trial(row, caller, run.settings, run.launcher, alone)
    context = RowContext(provider.capabilities, provider.broker, allocation, provider.running)
    return Trial(row, caller, run.settings, run.launcher, context)


async def _ended(run: Run, row: Row, trial: Trial) -> tuple[Status, str]:
    # Calls and waits have limits of their own; this one only ends what hangs all the same.
    limit = LONGEST_PATIENCE * max(run.pace.limit(row.longest), row.longest)
    try:
        async with asyncio.timeout(limit):
            await row.check(trial)
    except Broken as broken:
        return "failed", str(broken)
    except Skipped as skipped:
        return "skipped", str(skipped)
    except (NotServed, CannotBoot) as problem:
        return "not_implemented", str(problem)
    except Rejected as rejected:
        return "failed", f"the provider answered {rejected}"
    except TimeoutError:
        return "failed", f"not done after {limit:g} s"
    except Exception as fault:  # noqa: BLE001 - a fault of ours in one row must not end the run
        return "not_implemented", f"the suite itself is at fault: {fault!r}"
    finally:
        await trial.close()
    return "passed", ""
