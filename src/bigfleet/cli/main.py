"""`bigfleet`: the verbs, each imported only when it runs.

Help and completion must answer at once, so the list of verbs with its one-line texts stands here
and nothing heavy is imported until a verb needs it.
"""

from importlib import import_module
from typing import NamedTuple

import click

from bigfleet import __version__


class Verb(NamedTuple):
    module: str
    attribute: str
    summary: str


VERBS: dict[str, Verb] = {
    "plan": Verb(
        "bigfleet.cli.plan", "plan", "What one cycle would decide on a fleet file, and why."
    ),
    "bench": Verb("bigfleet.cli.bench", "bench", "How fast the engine decides on this machine."),
    "provider": Verb(
        "bigfleet.cli.provider", "provider", "Run a provider of machines, and look into one."
    ),
    "conformance": Verb(
        "bigfleet.cli.conformance", "conformance", "Whether a provider keeps its contract."
    ),
    "completion": Verb(
        "bigfleet.cli.completion", "completion", "A completion script for your shell."
    ),
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        command = getattr(import_module(verb.module), verb.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: bigfleet plan examples/fleets/first-look.yaml",
)
@click.version_option(__version__, prog_name="bigfleet", message="%(prog)s %(version)s")
def cli() -> None:
    """BigFleet: one pool of machines for many clusters, every decision explained.

    Exit codes: 0 done; 1 done, and the check fails; 2 bad usage or input; 3 unreachable or no such
    object; 4 refused; 5 partial answer.
    """


def main() -> None:
    cli(prog_name="bigfleet")
