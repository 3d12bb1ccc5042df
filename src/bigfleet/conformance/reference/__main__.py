"""The reference provider as a process: `python -m bigfleet.conformance.reference --addr ...`."""

import asyncio
import signal
import sys
from pathlib import Path

import click

from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.reference.provider import ReferenceSettings
from bigfleet.conformance.reference.server import serve, watch
from bigfleet.conformance.reference.statefile import Damaged
from bigfleet.model.durations import seconds_of
from bigfleet.wire.lines import TlsFiles


class Seconds(click.ParamType[float]):
    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = seconds_of(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not a duration; write it like 15s, 250ms or 2m", param, ctx)
        return seconds


SECONDS = Seconds()


STOPPING = 5.0


@click.command()
@click.option("--addr", default="127.0.0.1:9000", show_default=True, help="Where to listen.")
@click.option("--provider", default="reference", show_default=True, help="Name in host.provider.")
@click.option("--use-fake-backend", is_flag=True, help="Accepted: there is nothing else here.")
@click.option("--seed-count", type=int, default=32, show_default=True, help="Slots.")
@click.option("--state", type=click.Path(dir_okay=False, path_type=Path), help="State file.")
@click.option("--transition-timeout", type=SECONDS, default="30s", show_default=True)
@click.option("--fault-selectors", is_flag=True, help="Honour cluster ids that ask for failures.")
@click.option("--failed-hold", type=SECONDS, default=None, help="Let FAILED machines out.")
@click.option("--no-delete", is_flag=True, help="Without the Delete capability.")
@click.option("--idle", is_flag=True, help="A free pool: every machine has its host already.")
@click.option("--hosts", type=int, default=0, help="This many machines have their host already.")
@click.option("--latency", type=SECONDS, default="6ms", show_default=True, help="Of every step.")
@click.option("--substrate", type=click.Path(path_type=Path), help="Folder of outside events.")
@click.option("--mutant", default="", help="Break this one point of the contract.")
@click.option("--tls-cert", type=click.Path(path_type=Path))
@click.option("--tls-key", type=click.Path(path_type=Path))
@click.option("--tls-ca", type=click.Path(path_type=Path))
def reference(
    addr: str,
    provider: str,
    use_fake_backend: bool,
    seed_count: int,
    state: Path | None,
    transition_timeout: float,
    fault_selectors: bool,
    failed_hold: float | None,
    no_delete: bool,
    idle: bool,
    hosts: int,
    latency: float,
    substrate: Path | None,
    mutant: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
) -> None:
    """A provider that keeps the contract in plain dictionaries."""
    del use_fake_backend
    settings = ReferenceSettings(
        provider=provider,
        seed_count=seed_count,
        latency=latency,
        transition_timeout=transition_timeout,
        faults=fault_selectors,
        can_delete=not no_delete,
        hosts=None if idle else hosts,
        failed_hold=failed_hold,
    )
    tls = TlsFiles(tls_cert, tls_key, tls_ca) if tls_cert and tls_key and tls_ca else None
    sys.exit(asyncio.run(_serve(addr, settings, mutant, state, tls, substrate)))


async def _serve(
    addr: str,
    settings: ReferenceSettings,
    mutant: str,
    state: Path | None,
    tls: TlsFiles | None,
    substrate: Path | None,
) -> int:
    clock = SystemClock()
    try:
        served = await serve(
            addr, settings, clock, mutant=mutant, state=state, tls=tls, failed=_report
        )
    except (Damaged, OSError, KeyError) as problem:
        click.echo(f"cannot start: {problem}", err=True)
        return 1
    if substrate is not None:
        served.provider.start(watch(served.provider, substrate, clock))
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    click.echo(f"listening on {addr}", err=True)
    await asked.wait()
    await served.announce_end()
    await served.stop(STOPPING)
    return 0


def _report(method: str, problem: Exception) -> None:
    click.echo(f"{method}: {problem!r}", err=True)


reference()
