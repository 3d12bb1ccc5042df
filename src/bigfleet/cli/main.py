"""`bigfleet`: the verbs, each imported only when it runs.

Help and completion must answer at once, so the list of verbs with its one-line texts stands here
and nothing heavy is imported until a verb needs it.
"""

import sys
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from bigfleet import __version__
from bigfleet.cli.output import with_watch_interval


class LazyVerb(NamedTuple):
    module: str
    attribute: str
    summary: str


#: Verbs that ask a live shard.
_SHARD = "bigfleet.cli.shard_verbs"
#: Verbs that ask a live coordinator.
_COORDINATOR = "bigfleet.cli.coordinator_verbs"
VERBS: dict[str, LazyVerb] = {
    "up": LazyVerb("bigfleet.cli.up", "up", "The whole system on this machine, alive."),
    "plan": LazyVerb(
        "bigfleet.cli.plan", "plan", "What one cycle would decide on a fleet file, and why."
    ),
    "whatif": LazyVerb(
        "bigfleet.cli.whatif", "whatif", "What a cycle would decide if the fleet were another."
    ),
    "simulate": LazyVerb(
        "bigfleet.cli.simulate", "simulate", "A fleet and its faults in virtual time."
    ),
    "replay": LazyVerb(
        "bigfleet.cli.replay", "replay", "Decide recorded cycles again, and compare."
    ),
    "why": LazyVerb("bigfleet.cli.why", "why", "Why a Need, machine, action or pod is as it is."),
    "bench": LazyVerb(
        "bigfleet.cli.bench", "bench", "How fast engine, shard and provider are here."
    ),
    "warm": LazyVerb("bigfleet.cli.warm", "warm", "Compile the engine once, for all later starts."),
    "shard": LazyVerb("bigfleet.cli.shard", "shard", "Run a shard: one engine, many clusters."),
    "coordinator": LazyVerb(
        "bigfleet.cli.coordinator", "coordinator", "Run a coordinator: many shards, one fleet."
    ),
    "operator": LazyVerb(
        "bigfleet.cli.operator", "operator", "Run a cluster's operator; print its CRDs."
    ),
    "podwatch": LazyVerb(
        "bigfleet.cli.podwatch", "podwatch", "Run a cluster's pod controller: pods as demand."
    ),
    "status": LazyVerb(f"{_SHARD}.status", "status", "How the fleet is, or one shard of it."),
    "needs": LazyVerb(
        f"{_SHARD}.needs", "needs", "What clusters ask for, and what is short, and why."
    ),
    "clusters": LazyVerb(f"{_SHARD}.clusters", "clusters", "Clusters, their shards and sessions."),
    "machines": LazyVerb(
        f"{_SHARD}.machines", "machines", "Machines of a shard, and their stories."
    ),
    "describe": LazyVerb(
        f"{_SHARD}.describe", "describe", "Everything known of a machine, need, cluster or shard."
    ),
    "why-not": LazyVerb(
        "bigfleet.cli.why_not", "why_not", "The first check that fails behind an expectation."
    ),
    "top": LazyVerb(f"{_SHARD}.top", "top", "The largest clusters and shards first."),
    "quarantines": LazyVerb(
        f"{_SHARD}.quarantines", "quarantines", "Roll-ups and Lists that are held as suspicious."
    ),
    "pause": LazyVerb(f"{_SHARD}.pauses", "pause", "Stop actions: all, of a cluster, of a kind."),
    "resume": LazyVerb(f"{_SHARD}.pauses", "resume", "Lift a pause."),
    "reports": LazyVerb(f"{_SHARD}.reports", "reports", "How much there is, short, and sold out."),
    "shards": LazyVerb(f"{_COORDINATOR}.shards", "shards", "Shards, and what moves between them."),
    "domains": LazyVerb(f"{_COORDINATOR}.domains", "domains", "Which shard owns which machines."),
    "quotas": LazyVerb(
        f"{_COORDINATOR}.quotas", "quotas", "How much of a region a fleet may hold."
    ),
    "providers": LazyVerb(f"{_COORDINATOR}.providers", "providers", "Providers, and their shards."),
    "snapshot": LazyVerb(
        f"{_COORDINATOR}.snapshot",
        "snapshot",
        "The state of the coordinator, or the live fleet, as a file.",
    ),
    "provider": LazyVerb(
        "bigfleet.cli.provider", "provider", "Run a provider of machines, and look into one."
    ),
    "conformance": LazyVerb(
        "bigfleet.cli.conformance", "conformance", "Whether a provider keeps its contract."
    ),
    "context": LazyVerb("bigfleet.cli.context", "context", "Fleets by name: which one verbs ask."),
    "certs": LazyVerb("bigfleet.cli.certs", "certs", "Certificates for development, one per role."),
    "completion": LazyVerb(
        "bigfleet.cli.completion", "completion", "A completion script for your shell."
    ),
    "help": LazyVerb("bigfleet.cli.about", "show_help", "What a verb does, with examples."),
    "version": LazyVerb("bigfleet.cli.about", "version", "The version of this command line."),
}


class LazyGroup(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_watch_interval(args))

    def invoke(self, ctx: click.Context) -> Any:
        """Every verb is parsed and run in here, so that mistakes are met in one place."""
        try:
            return super().invoke(ctx)
        except click.UsageError as problem:
            from bigfleet.cli.suggestions import with_nearest_choice

            raise with_nearest_choice(problem) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in VERBS and not word.startswith("-"):
            from bigfleet.cli.suggestions import no_such_verb, verbs_of_groups

            # Verbs of people; to load the others takes seconds.
            people = (n for n, v in VERBS.items() if v.module.startswith((_SHARD, _COORDINATOR)))
            commands = (self.get_command(ctx, name) for name in people)
            below = verbs_of_groups(word, filter(None, commands))
            raise no_such_verb(word, VERBS, ctx, args[1:], below)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        command = getattr(import_module(verb.module), verb.attribute)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes names without importing what they name."""
        verbs = (name for name in VERBS if name.startswith(incomplete))
        found = [CompletionItem(name, help=VERBS[name].summary) for name in verbs]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: bigfleet up",
)
@click.version_option(__version__, prog_name="bigfleet", message="%(prog)s %(version)s")
def cli() -> None:
    """BigFleet: one pool of machines for many clusters, every decision explained.

    Exit codes: 0 done; 1 done, and the check fails; 2 bad usage or input; 3 unreachable or no such
    object; 4 refused; 5 partial answer.
    """


def main() -> None:
    if sys.argv[1:2] == ["shard"]:
        from bigfleet.edge.allocator import restart_on_c_allocator

        restart_on_c_allocator()
    cli(prog_name="bigfleet")
