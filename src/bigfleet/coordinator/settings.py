"""Everything about a coordinator that may be set, with its default; SIGHUP may change some of it.

`contradictions_of` says which of them do not go together, and what to do about it.

Durations are seconds; the field's type says how text is read.
"""

from dataclasses import dataclass

from bigfleet.model.settings import Seconds, setting
from bigfleet.model.syntax import is_address


@dataclass(frozen=True, slots=True)
class RebalanceSettings:
    enabled: bool = setting(True, "move machines between shards", reloadable=True)
    interval: Seconds = setting(10.0, "pause between two sweeps", least=0.001)
    age_cycles: int = setting(5, "cycles a shortfall must be older than")
    drain_age_cycles: int = setting(12, "cycles it must be older than before others are drained")
    drain: bool = setting(True, "let shards drain machines of lower priority", reloadable=True)
    cooldown: Seconds = setting(120.0, "pause between two transfers for one shortfall")
    cooldown_cycles: int = setting(8, "cycles of the receiver it lasts at least")
    min_stay: Seconds = setting(1800.0, "time a moved machine stays")
    direction_lock: Seconds = setting(600.0, "time in which nothing alike goes back")
    donor_margin_machines: int = setting(2, "matching free machines a donor keeps at least")
    donor_margin_fraction: float = setting(0.1, "part of them it keeps at least", most=1)
    offer_ttl: Seconds = setting(60.0, "time a donor keeps what it offered", least=0.001)
    hold_ttl: Seconds = setting(120.0, "time a receiver keeps it for the shortfall", least=0.001)
    max_per_transfer: int = setting(64, "machines of a transfer", least=1, most=100)
    max_drain_per_sweep: int = setting(8, "machines drained per sweep", least=1)
    donor_rate: float = setting(0.05, "part of a donor's machines that may leave per hour", most=1)
    return_after: Seconds = setting(1800.0, "idle time after which a machine goes home")
    decline_rest: Seconds = setting(60.0, "time a donor that declined is not asked again")
    stall_limit: int = setting(3, "transfers without progress that stop a shortfall", least=1)
    stall_rest: Seconds = setting(3600.0, "time it is stopped")


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    slack_machines: int = setting(10, "unused slots a shard may keep at least")
    slack_fraction: float = setting(0.1, "part of what it uses that it may keep", most=1)
    takeback_after: Seconds = setting(600.0, "time after which unused slots are taken back")


@dataclass(frozen=True, slots=True)
class CoordinatorSettings:
    listen: str = setting("127.0.0.1:7790", "where shards and the command line dial in")
    metrics_addr: str = setting("127.0.0.1:8790", "HTTP for metrics and probes; 0 turns it off")
    id: str = setting("node-1", "this replica's name")
    store: str = setting("sqlite", "where its rows lie", choices=("sqlite", "etcd"))
    data_dir: str = setting("./coord-data", "the file of the store sqlite")
    etcd_endpoints: tuple[str, ...] = setting((), "host:port of etcd members, may be repeated")
    etcd_prefix: str = setting("/bigfleet/v1", "under which its rows lie in etcd")
    etcd_tls_cert: str = setting("", "client certificate for etcd")
    etcd_tls_key: str = setting("", "its key")
    etcd_tls_ca: str = setting("", "who signed etcd's certificates")
    lease_ttl: Seconds = setting(5.0, "time after which a silent leader is replaced", least=1)
    advertise_addr: str = setting("", "address others are told; empty: listen")
    stale_after: Seconds = setting(
        30.0, "silence after which a shard is stale: three report intervals", least=0.001
    )
    snapshot_dir: str = setting("", "where snapshots are written; empty turns it off")
    snapshot_interval: Seconds = setting(300.0, "pause between two snapshots", least=0.001)
    partition_keys: tuple[str, ...] = setting((), "keys of domains in the order they are asked")
    shutdown_grace: Seconds = setting(5.0, "time calls have to end at a stop")
    debug_endpoints: bool = setting(False, "serve /debug/ on the metrics address")
    rebalance: RebalanceSettings = RebalanceSettings()
    quota: QuotaSettings = QuotaSettings()


_ETCD_TLS = ("etcd_tls_cert", "etcd_tls_key", "etcd_tls_ca")
#: Hosts to listen on that no client can call.
_EVERYWHERE = ("0.0.0.0", "[::]", "::")


def contradictions_of(settings: CoordinatorSettings) -> list[tuple[str, str]]:
    """What does not go together: (key, sentence)."""
    found = _addresses(settings)
    if settings.store == "etcd" and not settings.etcd_endpoints:
        text = "the store etcd needs them: name each member's host:port with --etcd-endpoints"
        found.append(("etcd_endpoints", text))
    if settings.store == "sqlite" and settings.etcd_endpoints:
        text = "are given, but the store is sqlite; say --store etcd, or leave them out"
        found.append(("etcd_endpoints", text))
    if settings.store == "sqlite" and not settings.data_dir:
        found.append(("data_dir", "the store sqlite needs a folder; name one with --data-dir"))
    given = [name for name in _ETCD_TLS if getattr(settings, name)]
    missing = [name for name in _ETCD_TLS if name not in given]
    if given and missing:
        text = f"goes together with {' and '.join(missing)}: all three, or none for plaintext"
        found.append((given[0], text))
    if not given and any("https://" in each for each in settings.etcd_endpoints):
        text = "are https, and there is no certificate for them; name it with --etcd-tls-cert"
        found.append(("etcd_endpoints", text))
    host = settings.listen.rpartition(":")[0]
    if settings.store == "etcd" and host in _EVERYWHERE and not settings.advertise_addr:
        text = "is needed where listen names no host: other replicas send callers there"
        found.append(("advertise_addr", text))
    if not settings.id:
        found.append(("id", "is empty; replicas are told apart by it"))
    if "/" in settings.id:
        found.append(("id", "has a slash; it becomes part of the name of a file"))
    listed = settings.partition_keys
    if len(set(listed)) < len(listed):
        found.append(("partition_keys", "name a key twice; each has one place in the order"))
    return found


def _addresses(settings: CoordinatorSettings) -> list[tuple[str, str]]:
    given = {"listen": settings.listen}
    if settings.metrics_addr not in ("", "0"):
        given["metrics_addr"] = settings.metrics_addr
    if settings.advertise_addr:
        given["advertise_addr"] = settings.advertise_addr
    found = [
        (key, f"{each!r} is not host:port") for key, each in given.items() if not is_address(each)
    ]
    if settings.metrics_addr == settings.listen and not settings.listen.endswith(":0"):
        found.append(("metrics_addr", "is the address of listen; they need two ports"))
    return found
