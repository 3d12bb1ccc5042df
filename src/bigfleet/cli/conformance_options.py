"""The flags of `bigfleet conformance`: what is tested, how patiently, and where it is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bigfleet.cli.durations import DURATION

DEFAULT_PROFILES = "core,cloud,spot,fault,durable,scale"
#: Of the lists that the suite prints; a shell completes --sort-by with them.
OUTCOME_COLUMNS = ("ROW", "AREA", "STATUS", "MILLISECONDS", "TITLE", "REASON")
CHANGE_COLUMNS = ("ROW", "BEFORE", "AFTER", "WORSE", "TITLE", "REASON")
PATH = click.Path(path_type=Path)

OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--target", metavar="HOST:PORT", help="A provider that is already running."),
    click.option(
        "--exec",
        "exec_line",
        metavar="CMD",
        help="Start the provider with this command, once per lane and restart. "
        "{addr} {host} {port} {seed_count} {state} {transition_timeout} {lane} are filled in; "
        "without them --addr and the other flags every provider knows are appended.",
    ),
    click.option("--exec-spec", type=PATH, help="YAML with a command, env and folder per lane."),
    click.option(
        "--profile",
        default=DEFAULT_PROFILES,
        show_default=True,
        help="What the provider claims; also bare-metal, strict, baseline, all.",
    ),
    click.option("--only", default="", metavar="IDS", help="Rows by id or pattern: B302,B9*."),
    click.option("--seed", type=int, default=1, show_default=True, help="Of every generator."),
    click.option("--steps", default="", help="Only these steps of a generated row (a replay)."),
    click.option(
        "--parallel",
        type=click.IntRange(1),
        default=8,
        show_default=True,
        help="Rows at a time, where they may share the provider.",
    ),
    click.option(
        "--settle",
        type=DURATION,
        default="15s",
        show_default=True,
        help="How long an operation may take; every limit grows with it.",
    ),
    click.option(
        "--call-deadline", type=DURATION, default="30s", show_default=True, help="Of one call."
    ),
    click.option(
        "--boot-timeout",
        type=DURATION,
        default="20s",
        show_default=True,
        help="Until a started provider must accept connections.",
    ),
    click.option(
        "--seed-count",
        type=click.IntRange(1),
        default=256,
        show_default=True,
        help="Machines a started provider is asked for.",
    ),
    click.option(
        "--scale-seed",
        type=click.IntRange(4),
        default=8000,
        show_default=True,
        envvar="BFCONF_SCALE_SEED",
        help="The same for scale; also BFCONF_SCALE_SEED.",
    ),
    click.option(
        "--soak",
        type=DURATION,
        default="10s",
        show_default=True,
        envvar="BFCONF_SOAK",
        help="Length of a soak of scale; also BFCONF_SOAK.",
    ),
    click.option(
        "--assertions",
        type=click.Choice(["corrected", "original"]),
        default="corrected",
        show_default=True,
        help="original: as the existing Go suite asserts, for comparison.",
    ),
    click.option("--shared", is_flag=True, help="Others use the provider meanwhile."),
    click.option("--fault-selectors", is_flag=True, help="The target honours fault selectors."),
    click.option("--hook-price", metavar="CMD", default="", help="Changes a price: CMD ID REF."),
    click.option("--hook-vanish", metavar="CMD", default="", help="Removes a host: CMD ID REF."),
    click.option("--failed-hold", type=DURATION, default=None, help="When FAILED may be left."),
    click.option(
        "--vanish-window",
        type=DURATION,
        default="30s",
        show_default=True,
        help="Until a machine whose host vanished must be FAILED (X06).",
    ),
    click.option(
        "--cut-off",
        type=DURATION,
        default="30s",
        show_default=True,
        help="Timeout of the Configure that a kill cuts off (B1006).",
    ),
    click.option("--tls-cert", type=PATH, help="mTLS, PEM files: all three or none."),
    click.option("--tls-key", type=PATH),
    click.option("--tls-ca", type=PATH),
    click.option(
        "--out",
        type=PATH,
        help="Folder for report.json, report.html, junit.xml, badge.json and the logs.",
    ),
    click.option("--self-test", is_flag=True, help="Run every mutant against its row."),
    click.option("--list", "list_rows", is_flag=True, help="List the rows, or those of --only."),
)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command
