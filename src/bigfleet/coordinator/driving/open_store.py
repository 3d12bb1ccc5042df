"""Which store the settings mean, and how it is reached.

A process with a file of its own does not load the client of etcd: most have no etcd at all.
"""

from pathlib import Path

from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.stores.contract import Leader, Store, StoreRefused
from bigfleet.coordinator.stores.sqlite import SqliteStore
from bigfleet.edge.clock import Clock
from bigfleet.wire.lines import TlsFiles


def store_of(settings: CoordinatorSettings, me: Leader, clock: Clock) -> Store:
    """Not yet opened; raises StoreRefused."""
    if settings.store == "sqlite":
        return SqliteStore(Path(settings.data_dir), me, clock)
    from bigfleet.coordinator.stores.etcd import EtcdStore
    from bigfleet.wire.etcd.client import EtcdClient

    # As etcd's own tools write them: one flag, commas between.
    endpoints = [e.strip() for given in settings.etcd_endpoints for e in given.split(",")]
    client = EtcdClient([each for each in endpoints if each], etcd_tls(settings))
    return EtcdStore(client, settings.etcd_prefix, me, clock, settings.lease_ttl)


def etcd_tls(settings: CoordinatorSettings) -> TlsFiles | None:
    """Raises StoreRefused where they cannot be used."""
    if not settings.etcd_tls_cert:
        return None
    files = TlsFiles(
        Path(settings.etcd_tls_cert), Path(settings.etcd_tls_key), Path(settings.etcd_tls_ca)
    )
    if why := files.why_unusable():
        raise StoreRefused(f"the certificates for etcd cannot be used: {why}")
    return files
