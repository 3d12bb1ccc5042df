"""Settings of a coordinator that do not go together: which key, and what to do about it."""

from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.model.syntax import is_address

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
