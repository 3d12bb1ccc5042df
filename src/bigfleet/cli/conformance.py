"""`bigfleet conformance`: whether a provider keeps its contract, and the proof that we can tell."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.durations import DURATION
from bigfleet.cli.terminal import plain, refuse
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.conformance.lab import Lab
    from bigfleet.conformance.outcomes import Findings
    from bigfleet.conformance.reports.document import Account
    from bigfleet.conformance.rows import Row
    from bigfleet.conformance.trial import Settings
    from bigfleet.wire.lines import TlsFiles

DEFAULT_PROFILES = "core,cloud,spot,fault,durable,scale"
PATH = click.Path(path_type=Path)

OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--target", metavar="HOST:PORT", help="A provider that is already running."),
    click.option(
        "--exec", "exec_line", metavar="CMD", help="Start the provider with this command."
    ),
    click.option("--exec-spec", type=PATH, help="YAML with one command per lane."),
    click.option(
        "--profile",
        default=DEFAULT_PROFILES,
        show_default=True,
        help="What the provider claims; also bare-metal, strict, baseline, all.",
    ),
    click.option("--only", default="", metavar="IDS", help="Rows by id or pattern: B302,B9*."),
    click.option("--seed", type=int, default=1, show_default=True, help="Of every generator."),
    click.option("--steps", default="", help="Only these steps of a generated row (a replay)."),
    click.option("--parallel", type=click.IntRange(1), default=8, show_default=True),
    click.option("--settle", type=DURATION, default="15s", show_default=True),
    click.option("--call-deadline", type=DURATION, default="30s", show_default=True),
    click.option("--boot-timeout", type=DURATION, default="20s", show_default=True),
    click.option("--seed-count", type=click.IntRange(1), default=256, show_default=True),
    click.option(
        "--scale-seed",
        type=click.IntRange(4),
        default=8000,
        show_default=True,
        envvar="BFCONF_SCALE_SEED",
    ),
    click.option("--soak", type=DURATION, default="10s", show_default=True, envvar="BFCONF_SOAK"),
    click.option(
        "--assertions",
        type=click.Choice(["corrected", "original"]),
        default="corrected",
        show_default=True,
    ),
    click.option("--shared", is_flag=True, help="Others use the provider meanwhile."),
    click.option("--fault-selectors", is_flag=True, help="The target honours fault selectors."),
    click.option("--hook-price", metavar="CMD", default="", help="Changes a price: CMD ID REF."),
    click.option("--hook-vanish", metavar="CMD", default="", help="Removes a host: CMD ID REF."),
    click.option("--failed-hold", type=DURATION, default=None, help="When FAILED may be left."),
    click.option("--vanish-window", type=DURATION, default="30s", show_default=True),
    click.option("--tls-cert", type=PATH),
    click.option("--tls-key", type=PATH),
    click.option("--tls-ca", type=PATH),
    click.option("--out", type=PATH, help="Folder for report.json, junit.xml, badge.json, html."),
    click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table"),
    click.option("--self-test", is_flag=True, help="Run every mutant against its row."),
    click.option("--list", "list_rows", is_flag=True, help="List the rows."),
)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.group(invoke_without_command=True, short_help="Does a provider keep its contract?")
@with_options
@click.pass_context
def conformance(ctx: click.Context, /, **given: Any) -> None:
    """Drive a provider through every behaviour of its contract and say what it keeps.

    Exit codes: 0 CERTIFIED, 1 FAILED, 5 INCOMPLETE, 2 set-up error, 3 target not reached.
    """
    if ctx.invoked_subcommand is not None:
        return
    # The transport reports every connection it loses; losing them is our trade.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        if given["list_rows"]:
            _list_rows(given["output"])
        elif given["self_test"]:
            sys.exit(_self_test(given))
        else:
            sys.exit(_certify(given))
    except BadInput as problem:
        raise refuse(str(p) for p in problem.problems) from problem


@conformance.command(short_help="Compare two report.json files.")
@click.argument("before", type=PATH)
@click.argument("after", type=PATH)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def diff(before: Path, after: Path, output: str) -> None:
    """Rows whose status changed from BEFORE to AFTER; 1 if a row that passed no longer does."""
    from bigfleet.cli.conformance_table import print_changes
    from bigfleet.conformance.reports.comparison import changes

    try:
        found = changes(before, after)
    except BadInput as problem:
        raise refuse(str(p) for p in problem.problems) from problem
    print_changes(found, output)
    sys.exit(1 if any(change.worse for change in found) else 0)


def _list_rows(output: str) -> None:
    from bigfleet.cli.conformance_table import print_rows
    from bigfleet.conformance.catalogue import ROWS

    print_rows(ROWS, output)


def _patterns(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _certify(given: dict[str, Any]) -> int:
    from bigfleet.cli.conformance_table import print_account
    from bigfleet.conformance.catalogue import ROWS
    from bigfleet.conformance.lab import CannotBoot, Unreachable
    from bigfleet.conformance.reports.writing import write_reports
    from bigfleet.conformance.selection import profiles_of, selected
    from bigfleet.conformance.verdicts import EXIT_SETUP, EXIT_UNREACHABLE

    profiles = profiles_of(given["profile"])
    rows = selected(ROWS, profiles, _patterns(given["only"]))
    with tempfile.TemporaryDirectory(prefix="bigfleet-conformance-") as scratch:
        try:
            account = asyncio.run(_run(given, profiles, rows, Path(scratch)))
        except Unreachable as problem:
            click.echo(plain(str(problem)), err=True)
            return EXIT_UNREACHABLE
        except CannotBoot as problem:
            click.echo(plain(str(problem)), err=True)
            return EXIT_SETUP
    if given["out"]:
        write_reports(account, given["out"])
    print_account(account, given["output"], given["out"])
    return account.verdict.exit_code


async def _run(
    given: dict[str, Any], profiles: tuple[str, ...], rows: "Sequence[Row]", scratch: Path
) -> "Account":
    from bigfleet.cli.conformance_table import progress
    from bigfleet.conformance.driver import SystemClock
    from bigfleet.conformance.pace import Pace
    from bigfleet.conformance.runner import Run, run_rows

    clock = SystemClock()
    settings = _settings(given, profiles, scratch)
    logs = (given["out"] or scratch) / "logs"
    lab = _lab(given, clock, logs)
    pace = Pace(settle=given["settle"], call_deadline=given["call_deadline"])
    with progress(len(rows)) as bar:
        run = Run(
            lab,
            clock,
            settings,
            pace,
            parallel=given["parallel"],
            on_outcome=bar.outcome,
            on_preflight=bar.preflight,
        )
        try:
            findings = await run_rows(run, rows)
        finally:
            await lab.close()
    return _account(given, profiles, findings, clock.wall())


def _account(
    given: dict[str, Any], profiles: tuple[str, ...], findings: "Findings", at: int
) -> "Account":
    from bigfleet.conformance.catalogue import ROWS
    from bigfleet.conformance.reports.document import Account
    from bigfleet.conformance.verdicts import completed, verdict_of

    outcomes = completed(findings, ROWS, profiles)
    shared = given["shared"]
    return Account(
        provider=given["target"] or given["exec_line"] or str(given["exec_spec"]),
        profiles=profiles,
        at=at,
        seed=given["seed"],
        assertions=given["assertions"],
        outcomes=outcomes,
        findings=findings,
        verdict=verdict_of(outcomes, findings.capabilities, profiles, shared=shared),
    )


def _settings(given: dict[str, Any], profiles: tuple[str, ...], scratch: Path) -> "Settings":
    from bigfleet.conformance.trial import Settings

    steps = _patterns(given["steps"])
    return Settings(
        seed=given["seed"],
        seed_count=given["seed_count"],
        scale_seed=given["scale_seed"],
        soak=given["soak"],
        original=given["assertions"] == "original",
        shared=given["shared"],
        steps=_numbers(steps) if steps else None,
        bare_metal="bare-metal" in profiles,
        failed_hold=given["failed_hold"],
        vanish_window=given["vanish_window"],
        scratch=scratch,
    )


def _numbers(texts: Sequence[str]) -> tuple[int, ...]:
    if not all(text.isdigit() for text in texts):
        raise click.UsageError("--steps takes numbers of steps, like 0,4,7")
    return tuple(map(int, texts))


def _lab(given: dict[str, Any], clock: Any, logs: Path) -> "Lab":
    import shlex

    from bigfleet.conformance.exec_spec import command_of, commands_of
    from bigfleet.conformance.processes import ExecLab, TargetLab

    named = [name for name in ("target", "exec_line", "exec_spec") if given[name]]
    if len(named) != 1:
        raise click.UsageError("say what to test with one of --target, --exec and --exec-spec")
    tls = _tls(given)
    hooks = {name: shlex.split(given[f"hook_{name}"]) for name in ("price", "vanish")}
    if given["target"]:
        return TargetLab(
            given["target"], clock, tls, given["fault_selectors"], given["scale_seed"], hooks
        )
    if given["exec_line"]:
        commands = {"default": command_of(given["exec_line"])}
    else:
        commands = commands_of(given["exec_spec"])
    return ExecLab(commands, clock, logs, given["boot_timeout"], hooks, tls)


def _tls(given: dict[str, Any]) -> "TlsFiles | None":
    from bigfleet.wire.lines import TlsFiles

    files = [given["tls_cert"], given["tls_key"], given["tls_ca"]]
    if not any(files):
        return None
    if not all(files):
        raise click.UsageError("--tls-cert, --tls-key and --tls-ca go together")
    return TlsFiles(*files)


def _self_test(given: dict[str, Any]) -> int:
    from bigfleet.cli.conformance_table import print_kills, progress
    from bigfleet.conformance.catalogue import ROWS
    from bigfleet.conformance.driver import SystemClock
    from bigfleet.conformance.reports.writing import json_text
    from bigfleet.conformance.selection import selected
    from bigfleet.conformance.selftest import score, self_test, self_test_document, unpaired

    rows = [row for row in selected(ROWS, (), _patterns(given["only"]) or ["*"]) if row.mutant]
    with (
        tempfile.TemporaryDirectory(prefix="bigfleet-conformance-") as scratch,
        progress(len(rows)) as bar,
    ):
        kills = asyncio.run(self_test(rows, SystemClock(), Path(scratch), on_kill=bar.kill))
    document = self_test_document(kills)
    if given["out"]:
        given["out"].mkdir(parents=True, exist_ok=True)
        (given["out"] / "self-test.json").write_text(json_text(document))
    if given["output"] == "json":
        click.echo(json_text(document), nl=False)
    else:
        print_kills(kills, unpaired())
    return 0 if score(kills) == 1.0 and not unpaired() else 1
