"""`bigfleet provider`: run a provider, and look into one that runs."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bigfleet.cli.durations import DURATION
from bigfleet.cli.provider_admin import ADMIN_COMMANDS
from bigfleet.cli.provider_bench import bench
from bigfleet.cli.provider_lines import tls_in
from bigfleet.cli.provider_sim import sim
from bigfleet.cli.terminal import refuse
from bigfleet.model.errors import BadInput, StartRefused

if TYPE_CHECKING:
    from bigfleet.provider import Backend, Clock, ProviderServer
    from bigfleet.provider.doctor import Finding
    from bigfleet.provider.options import ProviderOptions
    from bigfleet.provider.stores.store import Store


@click.group(no_args_is_help=True)
def provider() -> None:
    """Run a provider of machines, and look into one that runs."""


for _command in (*ADMIN_COMMANDS, sim, bench):
    provider.add_command(_command)


def _switch(name: str, text: str, *, default: bool = False) -> Callable[[Any], Any]:
    """A flag that also takes `=true` and `=false`, as existing start scripts write it."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=default, help=text)


def _duration(name: str, text: str, default: str) -> Callable[[Any], Any]:
    """Not given: the Backend's own, else the contract's default, which the help names."""
    return click.option(name, type=DURATION, default=None, help=f"{text}  [default: {default}]")


def _size(name: str, text: str, default: int) -> Callable[[Any], Any]:
    return click.option(name, type=click.IntRange(0), default=default, show_default=True, help=text)


METRICS_ADDRESS = "127.0.0.1:9090"
_PATH = click.Path(path_type=Path)
_RUN_OPTIONS: list[Callable[[Any], Any]] = [
    click.option("--addr", default="127.0.0.1:9000", show_default=True, help="gRPC address."),
    click.option("--provider", "name", default="", help="Name; default: that of the class."),
    click.option("--state", default="", help="State file; empty: memory only."),
    click.option("--offerings", type=_PATH, help="JSON file of what can be bought."),
    click.option(
        "--seed-count",
        type=click.IntRange(0),
        default=256,
        show_default=True,
        help="Machines of a fake or of the sim's conformance fleet: enough for a whole suite.",
    ),
    _switch("--use-fake-backend", "Run on the Backend's own fake, without credentials."),
    click.option(
        "--metrics-addr",
        default=None,
        help=f"HTTP; empty: none.  [default: {METRICS_ADDRESS}, or a free port if that is taken]",
    ),
    _switch("--reflection", "gRPC reflection.", default=True),
    _switch("--debug-endpoints", "Serve /debug/ on the metrics address."),
    click.option("--tls-cert", type=_PATH),
    click.option("--tls-key", type=_PATH),
    click.option("--tls-ca", type=_PATH),
    _switch("--fault-selectors", "Honour clusters named fault-..., for tests."),
    _switch("--allow-faults-in-production", "Even with real credentials."),
    _duration("--transition-timeout", "Sets the four operation timeouts at once.", "unset"),
    _duration("--create-timeout", "Work of a Create.", "5m"),
    _duration("--configure-timeout", "Work of a Configure.", "10m"),
    _duration("--drain-op-timeout", "Work of a Drain, beside its grace.", "10m"),
    _duration("--delete-timeout", "Work of a Delete.", "5m"),
    _duration("--describe-timeout", "One describe.", "30s"),
    _duration("--queue-timeout", "Waiting for a free place.", "15m"),
    _duration("--reconcile-interval", "Between two describes.", "2m"),
    _duration("--price-interval", "Between two price tables.", "5m"),
    _duration("--failed-hold", "How long FAILED is left alone.", "5m"),
    _duration("--stockout-hold", "The same after a stock-out.", "30s"),
    _duration("--drain-timeout", "What running work gets after SIGTERM.", "20s"),
    click.option(
        "--miss-threshold",
        type=click.IntRange(1),
        default=None,
        help="Describes an absence must last.  [default: 3]",
    ),
    _duration("--miss-span", "Time an absence must span.", "60s"),
    _size("--max-metadata-bytes", "Weight of a Configure's shard_metadata.", 4 * 1024 * 1024),
    _size("--max-metadata-keys", "Its keys.", 4096),
    _size("--max-blob-bytes", "Weight of a bootstrap blob.", 16 * 1024 * 1024),
    click.option("--operation-prefix", default="op", show_default=True),
    click.option(
        "--journal-rows",
        type=click.IntRange(1),
        default=1_000_000,
        show_default=True,
        help="Finished operations kept for `ops`, of the last seven days.",
    ),
    click.option("--persist-blobs", type=click.Choice(["in_flight", "never"]), default="in_flight"),
    click.option("--failed-exit", type=click.Choice(["in_place", "new_id"]), default="in_place"),
    click.option("--set", "pairs", multiple=True, help="key=value or key=@file, repeatable."),
    click.option("--config", "config_file", type=_PATH, help="YAML with the same keys."),
]


def _with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


@provider.command(short_help="Write a project to start from.", no_args_is_help=True)
@click.argument("name")
@click.option(
    "--template",
    type=click.Choice(["cloud", "bare-metal", "minimal"]),
    default="cloud",
    show_default=True,
)
@click.option("--into", type=_PATH, default=None, help="Folder; default: NAME-provider here.")
def new(name: str, template: str, into: Path | None) -> None:
    """Write a project to start from; it passes its conformance profiles before any edit."""
    from bigfleet.provider.scaffold.project_writer import written

    folder = into or Path(f"{name}-provider")
    try:
        files = written(name, template, folder)
    except BadInput as problem:
        raise refuse([str(p) for p in problem.problems]) from None
    for file in files:
        click.echo(str(file))
    click.echo(f"Next: cd {folder} && PYTHONPATH=src python -m pytest")


@provider.command(short_help="Write the .proto files, for a provider in any language.")
@click.option(
    "--out", "folder", type=_PATH, required=True, help="Folder to write into; made if missing."
)
@click.option(
    "--language",
    type=click.Choice(["go", "java", "typescript"]),
    default=None,
    help="Add the file options its generator needs.",
)
@click.option(
    "--package",
    default="",
    help="Go: import path of the generated code, such as example.com/acme/gen. Java: its package.",
)
def protos(folder: Path, language: str | None, package: str) -> None:
    """Write the contract's .proto files, so that a provider can be written in any language.

    \b
    bigfleet provider protos --out proto
    bigfleet provider protos --out proto --language go --package example.com/acme/gen
    bigfleet provider protos --out proto --language java --package com.acme.bigfleet

    What each call must answer is in docs/provider-contract.md; `bigfleet conformance` checks it.
    """
    from bigfleet.provider.scaffold.project_writer import next_command, written_protos

    try:
        files = written_protos(folder, language or "", package)
    except BadInput as problem:
        raise refuse([str(p) for p in problem.problems]) from None
    except OSError as problem:
        said = f"--out {folder}: {problem.filename or folder}: {problem.strerror}"
        raise refuse([f"{said}; name another folder"]) from None
    for file in files:
        click.echo(str(file))
    click.echo(f"Next: {next_command(folder, language or '')}")


@provider.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True},
    no_args_is_help=True,
)
@click.argument("target")
@_with_run_options
@click.argument("settings", nargs=-1, type=click.UNPROCESSED)
def run(target: str, settings: tuple[str, ...], **flags: Any) -> None:
    """Run `sim`, or the Backend MODULE:CLASS.

    A flag this command does not know is a setting of the Backend: `--preset demo` is the same as
    `--set preset=demo`.

    \b
    Examples:
      bigfleet provider run sim --preset conformance
      bigfleet provider run acme:Acme --set token=@token.txt --offerings offers.json --state acme.db
    """
    import asyncio

    from bigfleet.process import exit_now, serve

    async def served() -> NoReturn:
        exit_now(await serve(_server(target, settings, flags)))

    try:
        asyncio.run(served())
    except BadInput as problem:
        raise refuse([str(p) for p in problem.problems]) from None
    except (StartRefused, OSError) as problem:
        raise refuse([str(problem)]) from None


@provider.command(
    short_help="Check a live Backend without changing anything.",
    context_settings={"ignore_unknown_options": True},
    no_args_is_help=True,
)
@click.argument("target")
@_with_run_options
@click.argument("settings", nargs=-1, type=click.UNPROCESSED)
def doctor(target: str, settings: tuple[str, ...], **flags: Any) -> None:
    """Check a live Backend without changing anything: credentials, inventory, prices, TLS.

    Takes the flags of `run`. Exit code 1 if something is wrong.
    """
    import asyncio

    from bigfleet.edge.driver import RealClock

    try:
        backend = _backend(target, settings, flags)
        options = _options(target, backend, flags)
        found = asyncio.run(_examined(backend, options, RealClock(), flags))
    except BadInput as problem:
        raise refuse([str(p) for p in problem.problems]) from None
    for finding in found:
        click.echo(f"{'ok   ' if finding.fine else 'WRONG'} {finding.subject}: {finding.text}")
    if not all(finding.fine for finding in found):
        raise click.exceptions.Exit(1)


async def _examined(
    backend: "Backend", options: "ProviderOptions", clock: "Clock", flags: dict[str, Any]
) -> "list[Finding]":
    from bigfleet.provider.backend import OpenContext
    from bigfleet.provider.doctor import examined

    context = OpenContext(
        options.provider,
        clock,
        flags["offerings"],
        flags["seed_count"],
        flags["use_fake_backend"],
    )
    return [finding async for finding in examined(backend, context, options)]


def _server(target: str, settings: tuple[str, ...], flags: dict[str, Any]) -> "ProviderServer":
    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.log_lines import open_log
    from bigfleet.provider import ProviderServer

    backend = _backend(target, settings, flags)
    _refuse_faults_in_production(backend, flags)
    return ProviderServer(
        backend,
        _store(flags["state"]),
        _options(target, backend, flags),
        log=open_log(sys.stderr, "provider", RealClock().now),
        offerings=flags["offerings"],
        seed_count=flags["seed_count"],
        use_fake_backend=flags["use_fake_backend"],
        tune=False,
    )


def _backend(target: str, settings: tuple[str, ...], flags: dict[str, Any]) -> "Backend":
    from bigfleet.provider.config import settings_of
    from bigfleet.provider.targets import backend_of, settings_of_file, settings_of_words

    given = {
        **settings_of_file(flags["config_file"]),
        **settings_of_words(settings),
        **settings_of(flags["pairs"]),
    }
    return backend_of(target, given)


def _refuse_faults_in_production(backend: "Backend", flags: dict[str, Any]) -> None:
    harmless = backend.fake or flags["use_fake_backend"] or flags["allow_faults_in_production"]
    if flags["fault_selectors"] and not harmless:
        raise click.UsageError(
            "--fault-selectors would let any caller fail real machines; "
            "add --use-fake-backend, or --allow-faults-in-production if you mean it"
        )


def _store(state: str) -> "Store":
    from bigfleet.provider import MemoryStore, SQLiteStore
    from bigfleet.provider.driver import fresh_incarnation

    if not state:
        return MemoryStore(fresh_incarnation())
    return SQLiteStore(state, fresh_incarnation())


#: Flag -> field of Timing.
_TIMING = {
    "create_timeout": "create",
    "configure_timeout": "configure",
    "drain_op_timeout": "drain",
    "delete_timeout": "delete",
    "describe_timeout": "describe",
    "queue_timeout": "queue",
    "reconcile_interval": "reconcile",
    "price_interval": "prices",
    "failed_hold": "failed_hold",
    "stockout_hold": "stockout_hold",
    "drain_timeout": "drain_on_stop",
}


def _options(target: str, backend: "Backend", flags: dict[str, Any]) -> "ProviderOptions":
    """What the Backend asks for, overruled by what the command line says."""
    from bigfleet.provider.backend import Tunes
    from bigfleet.provider.ledger.decisions import Sizes
    from bigfleet.provider.options import FailedExit, KeepBlobs, ProviderOptions

    options = ProviderOptions()
    if isinstance(backend, Tunes):
        options = backend.tuned(options)
    timing = options.timing
    if flags["transition_timeout"] is not None:
        timing = timing.with_transition_timeout(flags["transition_timeout"])
    said = {field: flags[flag] for flag, field in _TIMING.items() if flags[flag] is not None}
    moves = flags["metrics_addr"] is None
    misses = {"miss_threshold": flags["miss_threshold"], "miss_seconds": flags["miss_span"]}
    return replace(
        options,
        provider=flags["name"] or target.rpartition(":")[2].lower(),
        address=flags["addr"],
        metrics_address=METRICS_ADDRESS if moves else flags["metrics_addr"],
        metrics_may_move=moves,
        tls=tls_in(flags),
        reflection=flags["reflection"],
        debug_endpoints=flags["debug_endpoints"],
        timing=replace(timing, **said),
        sizes=Sizes(
            flags["max_metadata_bytes"], flags["max_metadata_keys"], flags["max_blob_bytes"]
        ),
        operation_prefix=flags["operation_prefix"],
        journal_rows=flags["journal_rows"],
        keep_blobs=KeepBlobs(flags["persist_blobs"]),
        failed_exit=FailedExit(flags["failed_exit"]),
        fault_selectors=flags["fault_selectors"] or options.fault_selectors,
        **{field: value for field, value in misses.items() if value is not None},
    )
