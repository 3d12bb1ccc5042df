"""`bigfleet conformance`: whether a provider keeps its contract, and the proof that we can tell."""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.conformance_options import CHANGE_COLUMNS, OUTCOME_COLUMNS, with_options
from bigfleet.cli.output import prints_list
from bigfleet.cli.provider_lines import tls_in
from bigfleet.cli.terminal import plain, refuse
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.conformance.launchers import Launcher
    from bigfleet.conformance.reports.document import Account
    from bigfleet.conformance.rows import Findings, Row
    from bigfleet.conformance.trial import Settings

PATH = click.Path(path_type=Path)


@click.group(invoke_without_command=True, short_help="Does a provider keep its contract?")
@with_options
@prints_list(lambda: OUTCOME_COLUMNS, "How the outcome of each row is printed.")
@click.pass_context
def conformance(ctx: click.Context, /, **given: Any) -> None:
    """Drive a provider through every behaviour of its contract and say what it keeps.

    \b
    Examples:
      bigfleet conformance --exec "bigfleet provider run sim --preset conformance" --profile all
      bigfleet conformance --target 127.0.0.1:9000 --profile core,cloud --out report
      bigfleet conformance --exec ./my-provider --only B302

    Exit codes: 0 CERTIFIED, 1 FAILED, 5 INCOMPLETE, 2 set-up error, 3 target not reached.
    """
    if ctx.invoked_subcommand is not None:
        return
    # The transport reports every connection it loses; losing them is our trade.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        if given["list_rows"]:
            _list_rows(_patterns(given["only"]))
        elif given["self_test"]:
            sys.exit(_self_test(given))
        else:
            sys.exit(_certify(given))
    except BadInput as problem:
        raise refuse(str(p) for p in problem.problems) from problem


@conformance.command(short_help="Compare two report.json files.")
@click.argument("before", type=PATH)
@click.argument("after", type=PATH)
@prints_list(lambda: CHANGE_COLUMNS)
def diff(before: Path, after: Path) -> None:
    """Rows whose status changed from BEFORE to AFTER; 1 if a row that passed no longer does."""
    from bigfleet.cli.conformance_table import print_changes
    from bigfleet.conformance.reports.document import changes

    try:
        found = changes(before, after)
    except BadInput as problem:
        raise refuse(str(p) for p in problem.problems) from problem
    print_changes(found)
    sys.exit(1 if any(change.worse for change in found) else 0)


def _list_rows(patterns: Sequence[str]) -> None:
    from bigfleet.cli.conformance_table import print_rows
    from bigfleet.conformance.catalogue import ROWS, selected

    print_rows(selected(ROWS, (), patterns or ["*"]))


def _patterns(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _certify(given: dict[str, Any]) -> int:
    import asyncio

    from bigfleet.cli.conformance_table import print_account
    from bigfleet.conformance.catalogue import ROWS, profiles_of, selected
    from bigfleet.conformance.launchers import CannotBoot, Unreachable
    from bigfleet.conformance.reports.files import write_reports
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
    print_account(account, given["out"])
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
    launcher = _launcher(given, clock, logs)
    pace = Pace(
        settle=given["settle"], call_deadline=given["call_deadline"], cut_off=given["cut_off"]
    )
    with progress(len(rows)) as bar:
        run = Run(
            launcher,
            clock,
            settings,
            pace,
            parallel=given["parallel"],
            progress=bar,
        )
        try:
            findings = await run_rows(run, rows)
        finally:
            await launcher.close()
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


def _launcher(given: dict[str, Any], clock: Any, logs: Path) -> "Launcher":
    import shlex

    from bigfleet.conformance.processes import ExecLauncher, TargetLauncher, command_of, commands_of

    named = [name for name in ("target", "exec_line", "exec_spec") if given[name]]
    if len(named) != 1:
        raise click.UsageError("say what to test with one of --target, --exec and --exec-spec")
    tls = tls_in(given)
    hooks = {name: shlex.split(given[f"hook_{name}"]) for name in ("price", "vanish")}
    if given["target"]:
        return TargetLauncher(
            given["target"], clock, tls, given["fault_selectors"], given["scale_seed"], hooks
        )
    if given["exec_line"]:
        commands = {"default": command_of(given["exec_line"])}
    else:
        commands = commands_of(given["exec_spec"])
    return ExecLauncher(commands, clock, logs, given["boot_timeout"], hooks, tls)


def _self_test(given: dict[str, Any]) -> int:
    import asyncio

    from bigfleet.cli.conformance_table import print_kills, progress
    from bigfleet.conformance.catalogue import ROWS, selected
    from bigfleet.conformance.driver import SystemClock
    from bigfleet.conformance.reports.files import json_text
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
    print_kills(kills, unpaired(), document)
    return 0 if score(kills) == 1.0 and not unpaired() else 1
