"""Everything about an operator that may be set, with its default; SIGHUP may change some of it."""

import re
from dataclasses import dataclass

from bigfleet.model.options import SECOND
from bigfleet.model.settings import Seconds, setting
from bigfleet.model.syntax import is_address, why_not_cluster_id
from bigfleet.operator.node_rules import (
    BadCondition,
    NodeRules,
    UsableRules,
    repair_conditions,
)

#: An id has six characters; those after the prefix keep tokens apart.
_TOKEN_PREFIX = re.compile(r"[a-z0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    duration: Seconds = setting(15.0, "time after which a silent holder is replaced", least=1)
    renew: Seconds = setting(10.0, "time after which a holder that cannot renew gives up", least=1)
    retry: Seconds = setting(2.0, "pause between two attempts", least=0.1)


@dataclass(frozen=True, slots=True)
class ReconnectSettings:
    least: Seconds = setting(0.5, "pause before a lost session is dialled again", least=0.001)
    most: Seconds = setting(30.0, "what that pause grows to", least=0.001)


@dataclass(frozen=True, slots=True)
class RevisionTimes:
    """The waits of revised demand beside `stuck_grace`."""

    judged_after: Seconds = setting(
        60.0, "time from a usable Node after which pods it did not help count as judged again"
    )
    probe_first: Seconds = setting(1800.0, "time after which a margin is lowered by a machine")
    probe_longest: Seconds = setting(28800.0, "what that time grows to after failed tries")
    probe_timeout: Seconds = setting(600.0, "time after which a lowered margin stays lowered")
    empty_for: Seconds = setting(120.0, "time after which an empty Node leaves the margin")
    event_every: Seconds = setting(300.0, "pause between two Events of one kind and controller")
    first_reply: Seconds = setting(
        10.0, "how long the first roll-up waits for the shard to tell of margins in force"
    )


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    cluster_id: str = setting("", "this cluster's name in the fleet; it never changes")
    shard_addr: str = setting("", "host:port of the shard that serves this cluster")
    kubeconfig: str = setting("", "a kubeconfig file; empty: in-cluster, then KUBECONFIG, then ~")
    metrics_addr: str = setting("127.0.0.1:8770", "HTTP for metrics and probes; 0 turns it off")
    namespace: str = setting("", "where the lease lies; empty: the operator's own namespace")
    identity: str = setting("", "this replica's name in the lease; empty: host name and a number")
    rollup_interval: Seconds = setting(10.0, "pause between roll-ups", reloadable=True, least=0.1)
    rollup_debounce: Seconds = setting(1.0, "from a change to its roll-up", reloadable=True)
    qps: float = setting(50.0, "calls a second to the API server", least=0.1)
    burst: int = setting(100, "calls at once after a quiet time", least=1)
    ack_concurrency: int = setting(16, "acknowledgements written at once", least=1)
    dispatch: int = setting(32, "other objects written at once", least=1)
    outbox: int = setting(256, "answers that may wait for the line", least=1)
    evict_retry: Seconds = setting(2.0, "pause before a refused eviction is tried again", least=0.1)
    default_grace: Seconds = setting(30.0, "grace of an instruction that names none", least=1)
    admission_delay: Seconds = setting(
        15.0, "how old an instruction must be before the pods of its machine are evicted"
    )
    successor_wait: Seconds = setting(
        30.0, "how long an evicted pod's successor is waited for before it counts as none"
    )
    delete_nodes: bool = setting(
        True, "delete the Node of a machine that has left, if nothing else does"
    )
    node_delete_after: Seconds = setting(
        120.0, "how long such a Node stays, not Ready, before it is deleted"
    )
    bootstrap_template_file: str = setting(
        "", "what a machine is given to join this cluster; read again when it changes"
    )
    api_server: str = setting("", "URL machines join at; empty: the one the operator talks to")
    mint_token: bool = setting(False, "make bootstrap tokens, for {{ .Token }} in the template")
    token_prefix: str = setting("bf", "first characters of the ids of these tokens, at most 3")
    token_ttl: Seconds = setting(900.0, "how long such a token is good for", least=60)
    stuck_grace: Seconds = setting(
        10.0, "how long a pod must find no place before machines are added for it"
    )
    join_timeout: Seconds = setting(900.0, "how long a Node may take to show its devices")
    startup_taints: tuple[str, ...] = setting(
        (), "keys of taints that go when a Node is ready for pods, beside the usual ones"
    )
    node_gone: Seconds = setting(120.0, "time without its Node after which a machine is lost")
    repair: bool = setting(True, "replace machines whose Nodes stay broken", reloadable=True)
    repair_conditions: tuple[str, ...] = setting(
        (),
        "conditions that make a Node broken and for how long: KernelDeadlock=10m, "
        "GpuHealthy:False=5m; Ready=30m unless it is listed",
    )
    watch_stale: Seconds = setting(
        60.0, "time without news from the API server after which roll-ups stop", least=1
    )
    shutdown_grace: Seconds = setting(5.0, "time writes under way have to end at a stop")
    debug_endpoints: bool = setting(False, "serve /debug/ on the metrics address")
    lease: LeaseSettings = LeaseSettings()
    reconnect: ReconnectSettings = ReconnectSettings()
    revision: RevisionTimes = RevisionTimes()


def contradictions_of(settings: OperatorSettings) -> list[tuple[str, str]]:
    """Keys and what is wrong with them together or alone."""
    found = []
    if not settings.cluster_id:
        found.append(("cluster_id", "is missing: name this cluster, once and for ever"))
    elif wrong := why_not_cluster_id(settings.cluster_id):
        found.append(("cluster_id", wrong))
    if not settings.shard_addr:
        found.append(("shard_addr", "is missing: name the host:port of the shard"))
    elif not is_address(settings.shard_addr):
        found.append(("shard_addr", f"{settings.shard_addr!r} is not host:port"))
    try:
        repair_conditions(settings.repair_conditions)
    except BadCondition as problem:
        found.append(("repair_conditions", str(problem)))
    lease = settings.lease
    if not lease.retry < lease.renew < lease.duration:
        text = "must rise: lease.retry < lease.renew < lease.duration, or two replicas may lead"
        found.append(("lease.renew", text))
    if settings.reconnect.most < settings.reconnect.least:
        found.append(("reconnect.most", "is below reconnect.least"))
    if settings.mint_token and not settings.bootstrap_template_file:
        text = "needs bootstrap_template_file: nothing else would hold the token"
        found.append(("mint_token", text))
    if not _TOKEN_PREFIX.fullmatch(settings.token_prefix):
        text = f"{settings.token_prefix!r}: write at most 3 lower-case letters and digits"
        found.append(("token_prefix", text))
    return found


def node_rules_of(settings: OperatorSettings) -> NodeRules:
    """Raises BadCondition, which `contradictions_of` tells first."""
    conditions = repair_conditions(settings.repair_conditions) if settings.repair else ()
    return NodeRules(
        UsableRules(round(settings.join_timeout * SECOND), frozenset(settings.startup_taints)),
        conditions,
        round(settings.node_gone * SECOND),
    )
