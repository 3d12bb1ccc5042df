"""`bigfleet up`: the whole system on a laptop, and a view of it deciding."""

import io
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet import __version__
from bigfleet.cli.durations import DURATION
from bigfleet.cli.output import Output, document_form
from bigfleet.cli.terminal import plain, refuse, unread
from bigfleet.up.sizes import LAST_PORT_BASE, SIZES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine

    from bigfleet.edge.logs import Log
    from bigfleet.model.coordination import Transfer
    from bigfleet.up.plans import FleetPlan
    from bigfleet.up.reports import CycleReport


@click.command()
@click.option("--size", type=click.Choice(list(SIZES)), default="small", show_default=True,
              help="1,200, 25,000 or 250,000 machines.")  # fmt: skip
@click.option("--fleet", "file", metavar="FILE", default="",
              help="The machines and Needs of a fleet file instead of the demo fleet; \"-\" is "
                   "standard input.")  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of fleet and workloads.")
@click.option("--speed", type=click.FloatRange(0.1, 60), default=1.0, show_default=True,
              help="How fast simulated time passes.")  # fmt: skip
@click.option("--data-dir", type=click.Path(file_okay=False, path_type=Path), default=None,
              help="Where state is kept and found again; default: temporary.")  # fmt: skip
@click.option("--provider-addr", default="", metavar="HOST:PORT",
              help="Your provider instead of the simulated one.")  # fmt: skip
@click.option("--shards", type=click.IntRange(min=1), default=1, show_default=True,
              help="Shards that share the simulated fleet, with zones of their own.")  # fmt: skip
@click.option("--port-base", type=click.IntRange(1, LAST_PORT_BASE), default=None, metavar="N",
              help="First port; the others follow it.  [default: 7780, 7790, "
                   "8780, 8790, 9000, or the next that are free]")  # fmt: skip
@click.option("--web", default="", metavar="127.0.0.1:PORT",
              help="Where the page is served, or the next port that is free; off: no page.  "
                   "[default: 127.0.0.1:8080]")  # fmt: skip
@click.option("--no-open", is_flag=True, help="Do not open the page in a browser.")
@click.option("--headless", is_flag=True, help="Lines instead of the live view, and no browser.")
@click.option("--tour", is_flag=True,
              help="Play the tour: twelve beats. With --headless, end after it, with 1 if a beat "
                   "did not come about.")  # fmt: skip
@click.option("--for", "lasting", type=DURATION, default=None, metavar="DURATION",
              help="Stop after this real time, such as 60s; default: Ctrl-C.")  # fmt: skip
@click.option("--assert", "asserting", is_flag=True,
              help="Exit 1 if demand was left unmet although supply was there, a pod waited "
                   "although a free machine would take it, a machine went back and forth, or was "
                   "owned by two shards or by none.")  # fmt: skip
@document_form("json, yaml: with --headless, one document per cycle and transfer.")
def up(
    size: str,
    file: str,
    seed: int,
    speed: float,
    data_dir: Path | None,
    provider_addr: str,
    shards: int,
    port_base: int | None,
    web: str,
    no_open: bool,
    headless: bool,
    tour: bool,
    lasting: float | None,
    asserting: bool,
    output: str,
) -> None:
    """Start everything on this machine and watch it decide.

    One process, no network, no root: a simulated provider, a coordinator, a shard, and three
    simulated clusters (shop, ml, batch) whose workloads live: deploys, batch waves, training gangs,
    and a surge of critical work every few minutes. Real are the engine, the shard, the coordinator
    and the protocols between them; simulated are machines, prices, latencies, pods and their
    scheduler. Ctrl-C ends all of it.

    Another shell finds it by itself: `up` writes a context of that name and takes it away at its
    end, see `bigfleet context`. With --port-base 17000 the coordinator is on port 17000, then come
    its metrics, the provider, the shards, their metrics and the page; a port that is taken is an
    error.

    With --fleet FILE the simulated provider has the machines of the file by their names, labels and
    prices, and every Need of it becomes pods of its cluster, all from the start: what you would
    otherwise only plan, you watch. The fleet begins anew: owned machines are Idle, others are to be
    bought, and the shard decides.

    With --shards 3 every zone and every cluster has a shard of its own, and machines move between
    shards: the surge needs machines that only another shard has.

    \b
    Examples:
      bigfleet up
      bigfleet up --shards 3
      bigfleet up --headless --for 60s
      bigfleet up --headless --tour --speed 10
      bigfleet up --speed 5 --data-dir ./fleet
      bigfleet up --port-base 17000
      bigfleet snapshot fleet now.jsonl && bigfleet up --fleet now.jsonl
    """
    import asyncio

    if output != "table" and not headless:
        raise click.UsageError(f"-o {output} goes with --headless")
    if provider_addr and not provider_addr.rpartition(":")[2].isdecimal():
        raise click.UsageError(f"--provider-addr {provider_addr}: write HOST:PORT")
    began = time.perf_counter()
    from bigfleet.cli.progress import compile_all
    from bigfleet.cli.request_options import EXIT_UNREACHABLE
    from bigfleet.cli.up_page import web_port
    from bigfleet.model.errors import StartRefused
    from bigfleet.up.local_fleet import ProviderSilent
    from bigfleet.up.plans import FleetPlan, why_no_tour

    plan = FleetPlan(SIZES[size], seed, speed, data_dir, provider_addr, shards)
    if file:
        plan = _of_file(plan, file)
    if port_base is not None:
        plan = plan.on_ports_from(port_base)
    if shards > 1 and provider_addr:
        raise click.UsageError("--shards goes with the simulated provider, whose zones are known")
    if shards > len(plan.zones):
        named = ", ".join(plan.zones)
        raise click.UsageError(f"--shards {shards}: a shard has a zone, and there are {named}")
    if tour and (problem := why_no_tour(plan)):
        raise click.UsageError(f"--tour: {problem}")
    page = _PagePlan(web_port(web or f"127.0.0.1:{plan.web_port}"), not (no_open or headless))
    compile_all()
    try:
        asyncio.run(_lived_and_ended(plan, page, began, headless, tour, lasting, output, asserting))
    except ProviderSilent as problem:
        click.echo(plain(str(problem)), err=True)
        raise click.exceptions.Exit(EXIT_UNREACHABLE) from None
    except (StartRefused, OSError) as problem:
        raise refuse([str(problem)]) from None


def _of_file(plan: "FleetPlan", file: str) -> "FleetPlan":
    """Ends the command with every problem of the file."""
    from bigfleet.cli.sources import fleet_from
    from bigfleet.cli.terminal import refuse_input
    from bigfleet.model.errors import BadInput
    from bigfleet.up.file_fleets import file_fleet_of

    given = click.get_current_context().get_parameter_source("size")
    if given is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("--size is that of the demo fleet; leave it out, or --fleet")
    if plan.provider_addr:
        raise click.UsageError("--fleet is for the simulated provider; leave --provider-addr out")
    try:
        found = file_fleet_of(fleet_from(file))
    except BadInput as problem:
        raise refuse_input(file, problem) from None
    return replace(plan, machines=found.machines, file=found)


@dataclass(frozen=True, slots=True)
class _PagePlan:
    #: None: no page.
    port: int | None
    opens: bool


async def _lived_and_ended(*how: Any) -> None:
    """Ends the process before the loop ends: that would cancel calls which gRPC is about to end,
    and gRPC prints a traceback for each."""
    from bigfleet.process import exit_now

    exit_now(await _lived(*how))


async def _lived(
    plan: "FleetPlan",
    page: _PagePlan,
    began: float,
    headless: bool,
    plays: bool,
    lasting: float | None,
    output: str,
    asserting: bool,
) -> int:
    import asyncio

    from bigfleet.cli.up_contexts import written_context
    from bigfleet.cli.up_faces import DocumentFace, Face, LineFace, banner
    from bigfleet.cli.up_page import address_of, open_in_browser, served_page
    from bigfleet.cli.up_tour import TourFace, judged_tour, playing
    from bigfleet.cli.up_view import LiveFace
    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.garbage_collection import collect_rarely
    from bigfleet.edge.thread_turns import take_quick_turns
    from bigfleet.process import asked_to_stop, real_context, started_before
    from bigfleet.up.fleet_watch import FleetWatch
    from bigfleet.up.local_fleet import LocalFleet, PartDied
    from bigfleet.up.owner_watch import OwnerWatch
    from bigfleet.up.scenario import Scenario

    take_quick_turns()
    asked = asked_to_stop()
    stopping = asyncio.ensure_future(asked.wait())
    collecting = asyncio.create_task(collect_rarely(RealClock()))
    told = headless and plays
    # Most of what is warned of, the tour does on purpose.
    log = _log("error" if told else "warning")
    fleet = LocalFleet(plan, real_context(log, None, __version__))
    if not await started_before(stopping, fleet.start()):
        return 0
    watch = FleetWatch()
    dwell = {"dwell_seconds": 0.0} if told else {}
    scenario = Scenario(fleet, RealClock(), log, watch, **dwell)
    live = not headless and sys.stdout.isatty()
    face: Face = (
        TourFace(scenario, Output(output, one_line=True))
        if told
        else DocumentFace(Output(output, one_line=True))
        if output != "table"
        else LiveFace(plan.shards, time.perf_counter)
        if live
        else LineFace(_time_of_day, time.perf_counter, names_shards=plan.shards > 1)
    )
    owners = OwnerWatch(plan.min_stay_seconds, plan.look_seconds)
    # Machines of another's provider may come and go.
    looks = asserting and plan.simulated

    def heard(report: "CycleReport") -> None:
        watch.on_report(report)
        if looks and owners.is_due(report.at):
            owners.on_owners(fleet.owned(), report.at)
        face.show(fleet.times.in_real_time(report))

    def moved(transfer: "Transfer") -> None:
        # The coordinator tells real time, as to any caller; what is judged is simulated.
        watch.on_move(replace(transfer, updated_at=fleet.times.own_of(transfer.updated_at)))
        face.show_move(transfer)

    address = fleet.addresses["coordinator"]
    try:
        async with served_page(fleet, page.port, log, scenario) as served:
            ready = time.perf_counter() - began
            with written_context(address, plan.data_dir) as context:
                how_to_ask = context.how_to_ask(address)
                face.open(banner(plan, fleet, ready, how_to_ask, address_of(served)))
                if page.opens:
                    open_in_browser(served)
                work = [fleet.follow(heard), fleet.follow_moves(moved), fleet.until_dead()]
                work += playing(scenario, at_once=plays, ends=told)
                await _until_asked(work, stopping, lasting)
    except BrokenPipeError:
        # The reader of our lines has closed the pipe.
        unread()
    except PartDied as problem:
        click.echo(plain(str(problem)), err=True)
        return 1
    finally:
        face.close()
        collecting.cancel()
        await scenario.close()
        await fleet.stop()
    found = [*watch.findings, *owners.findings] if asserting else []
    return _judged([*(judged_tour(scenario) if told else ()), *found])


async def _until_asked(
    work: "list[Coroutine[Any, Any, None]]",
    stopping: "asyncio.Future[Any]",
    lasting: float | None,
) -> None:
    """Until a signal comes, or the time is up; raises what ended a part before that."""
    import asyncio

    tasks = [asyncio.create_task(each) for each in work]
    try:
        done, _ = await asyncio.wait(
            {*tasks, stopping}, timeout=lasting, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _judged(findings: list[str]) -> int:
    for finding in findings:
        click.echo(plain(finding), err=True)
    return 1 if findings else 0


def _time_of_day() -> str:
    return time.strftime("%H:%M:%S")


def _log(level: str = "warning") -> "Log":
    """Not what is decided: that is shown by the faces."""
    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.log_lines import open_log

    # By its name: the live view has another standard error.
    return open_log(_CurrentStderr(), "up", RealClock().now, text=True, level=level)


class _CurrentStderr(io.StringIO):
    """Standard error as it is at the moment of writing."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()
