"""`bigfleet why OBJECT`: why something is as it is, from the cycle that decided it."""

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.durations import DURATION
from bigfleet.cli.object_names import KINDS
from bigfleet.cli.output import shows
from bigfleet.cli.sources import Source, takes_source

#: Objects the verb explains, and how each is written.
EXPLAINED = {
    "need": "need/CLUSTER/ID",
    "machine": "machine/ID",
    "action": "action/CYCLE.INDEX",
    "cluster": "cluster/ID",
    "pod": "pod/CLUSTER/NAMESPACE/NAME",
    "cr": "cr/CLUSTER/NAMESPACE/NAME",
}
CANDIDATE_COLUMNS = (
    "MACHINE",
    "STATE",
    "RANK",
    "$/H",
    "PROB",
    "PENALTY",
    "EXPECTED",
    "COST",
    "WHY",
)


@click.command(no_args_is_help=True)
@shard_verb
@shows(lambda: CANDIDATE_COLUMNS)
@takes_source
@click.argument("name", metavar="OBJECT")
@click.option(
    "--candidates",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Machines that are shown of those a Need could have; 1000 at most.",
)
@click.option(
    "--counterfactual",
    is_flag=True,
    help="Of a Need that waits: the smallest changes that would satisfy it.",
)
@click.option(
    "--budget",
    type=DURATION,
    help="With --counterfactual: how long it may try; 2s unless said, 30s at most.",
)
@click.option(
    "--depth",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With --counterfactual: 2 tries pairs of changes too.",
)
@click.option(
    "--tried", is_flag=True, help="With --counterfactual: also what was tried and does not help."
)
@click.option("--kubeconfig", default="", help="Of a pod's cluster.  [default: as kubectl]")
@click.option("--kube-context", default="", help="Of that kubeconfig.  [default: the current one]")
def why(
    connection: Connection,
    source: Source,
    name: str,
    candidates: int,
    counterfactual: bool,
    budget: float | None,
    depth: int,
    tried: bool,
    kubeconfig: str,
    kube_context: str,
) -> None:
    """Why a Need got what it got, why a machine is where it is, why a pod waits.

    \b
    need/CLUSTER/ID      what it has and lacks, what stands in its way, which machines it could have
    machine/ID           its state, who claims it, what happens to it next
    action/CYCLE.INDEX   the Need it serves, and what else could have been done
    cluster/ID           what was decided lately about its machines
    pod/CLUSTER/NAMESPACE/NAME   from the pod to its Need, machines, Nodes, and what it costs
    cr/CLUSTER/NAMESPACE/NAME    the same from a CapacityRequest

    The first characters of a Need's id are enough. The answer is about the last cycle of a live
    shard, of a journal (--journal) or of a fleet file (--fleet), or about the cycle --at. Of a Need
    it begins with its state: met, arriving, blocked or short; a journal and a file do not know
    whether pods run, and say covered instead of met. Penalties
    are what clusters declare, not what is billed. A pod is asked for at the API server of its
    cluster, as it is now.

    --counterfactual decides the cycle again and again, each time with one thing changed, and names
    the pause or rail that holds the Need back: nothing is changed anywhere. It leaves with 5 where
    its budget ended before everything was tried.

    \b
    Examples:
      bigfleet why need/ml/n3f9c
      bigfleet why need/ml/n3f9c --candidates 50
      bigfleet why need/ml/n3f9c --journal data/journal --at 3:18231
      bigfleet why need/ml/n3f9c --fleet fleet.yaml -o json
      bigfleet why need/ml/n3f9c --counterfactual --budget 5s
      bigfleet why machine/od-0117
      bigfleet why cluster/shop --journal data/journal --at 2026-03-14T03:00:10Z
      bigfleet why pod/shop/default/web-1 --kube-context shop
    """
    kind, _, rest = name.partition("/")
    if kind not in EXPLAINED or not rest:
        raise click.UsageError(_unexplained(name, kind))
    from bigfleet.cli.why_counterfactual import Wanted, print_counterfactual

    wanted = Wanted(budget, depth, tried)
    if counterfactual and kind != "need":
        raise click.UsageError(f"--counterfactual is about a Need that is short, not a {kind}")
    if wanted.said and not counterfactual:
        raise click.UsageError(f"{wanted.said[0]} goes with --counterfactual")
    match kind:
        case "need" if counterfactual:
            print_counterfactual(connection, source, rest, wanted)
        case "need":
            from bigfleet.cli.why_need import print_need

            print_need(connection, source, rest, candidates)
        case "machine":
            from bigfleet.cli.why_machine import print_machine

            print_machine(connection, source, rest)
        case "cluster":
            from bigfleet.cli.why_cluster import print_cluster

            print_cluster(connection, source, rest)
        case "pod" | "cr":
            from bigfleet.cli.why_pod import KubeOptions, print_pod

            print_pod(connection, source, name, KubeOptions(kubeconfig, kube_context), candidates)
        case _:
            from bigfleet.cli.why_machine import print_action

            print_action(connection, source, rest)


def _unexplained(name: str, kind: str) -> str:
    from difflib import get_close_matches

    if kind in EXPLAINED:
        return f"{name!r}: which {kind}? write {EXPLAINED[kind]}"
    forms = ", ".join(EXPLAINED.values())
    if kind in KINDS:
        return f"{name!r}: why does not explain a {kind} yet; it explains {forms}"
    near = get_close_matches(kind, EXPLAINED, n=1)
    hint = f"did you mean {EXPLAINED[near[0]]}?" if near else f"write one of {forms}"
    return f"{name!r} names no object; {hint}"
