"""One quick etcd for all tests of a worker; every test has a prefix of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator_stores.rigs import QUICK, EtcdRig, FileRig, Rig, fresh_prefix
from tests.etcd_cluster import EtcdCluster, etcd_cluster, needs_etcd


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd"), flags=QUICK) as cluster:
        yield cluster


@pytest.fixture
def over_etcd(etcd: EtcdCluster) -> EtcdRig:
    return EtcdRig(etcd.endpoints, fresh_prefix())


@pytest.fixture(params=["sqlite", pytest.param("etcd", marks=needs_etcd)])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    if request.param == "sqlite":
        return FileRig(tmp_path)
    etcd: EtcdCluster = request.getfixturevalue("etcd")
    return EtcdRig(etcd.endpoints, fresh_prefix())
