"""A real control plane on the loopback: etcd, kube-apiserver, kube-scheduler, controllers.

There is no kubelet and no node lifecycle: nodes are the NodeActor's, and nobody taints them behind
its back. Everybody on the rig is an administrator by token; the process under test gets a
ServiceAccount with its own role instead (`Cluster.service_account_kubeconfig`).

All of it is synchronous, so that it can live longer than the event loop of one test.
"""

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import yaml

from tests.e2e.assets import require
from tests.e2e.rig.certificates import certificates_in
from tests.e2e.rig.processes import Ended, Family, Supervised
from tests.etcd_cluster import free_ports

#: Of a machine that does much else; a wait ends with its event.
PATIENCE = 120.0
_POLL_SECONDS = 0.05
_ATTEMPTS = 3
ADMIN_TOKEN = "e2e-admin"
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
#: What the tests' objects need; no node lifecycle (no controller then looks at heartbeats) and
#: nothing that needs a cloud or a network.
CONTROLLERS = (
    "bootstrap-signer-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "persistentvolume-binder-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "token-cleaner-controller",
)


class ControlPlane:
    def __init__(
        self, name: str, folder: Path, api_server_flags: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.folder = folder
        self._programs = {program: str(require(program)) for program in PROGRAMS}
        self._family = Family(folder)
        #: Numbers the tests that use it.
        self.visits = count(1)
        self.certificates = certificates_in(folder)
        etcd, peer, self.port = free_ports(3)
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"https://{self.address}"
        self.kubeconfig = self.write_kubeconfig("admin", ADMIN_TOKEN)
        (folder / "tokens.csv").write_text(f"{ADMIN_TOKEN},admin,1,system:masters\n")
        self._words = {
            "etcd": _etcd_flags(folder, etcd, peer),
            "kube-apiserver": self._api_server_flags(etcd) | dict(api_server_flags or {}),
            "kube-scheduler": {"config": str(self._scheduler_config()), "secure-port": "0"},
            "kube-controller-manager": self._controller_flags(),
        }

    # -- its life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Returns once the API server is ready; scheduler and controllers follow by themselves."""
        self._run("etcd")
        self._run("kube-apiserver")
        self._run("kube-scheduler")
        self._until_ready()
        # It ends where no API server answers within ten seconds: not before there is one.
        self._run("kube-controller-manager")

    def stop(self) -> None:
        """No test waits for anything in it: killed, all of it at once."""
        self._family.kill()

    def process(self, program: str) -> Supervised:
        """One of PROGRAMS, for a test that stops, pauses or measures it."""
        return next(member for member in self._family.members if member.name == program)

    def must_run(self) -> None:
        """All of it: what an earlier test has lost is not the fault of this one."""
        for member in self._family.members:
            member.must_run()

    def stop_api_server(self) -> None:
        self.process("kube-apiserver").kill()

    def start_api_server(self) -> None:
        self.process("kube-apiserver").start()
        self._until_ready()

    def restart_api_server(self) -> None:
        """Every watch and every connection breaks; every object is still there."""
        self.stop_api_server()
        self.start_api_server()

    def shown(self) -> str:
        return self._family.shown()

    # -- who may come in --------------------------------------------------------------------------

    def write_kubeconfig(
        self, user: str, token: str, namespace: str = "default", through: str = ""
    ) -> Path:
        """At home in that namespace; `through` is an address on the way, such as a link's."""
        server = f"https://{through or self.address}"
        cluster = {"server": server, "certificate-authority": str(self.certificates.ca)}
        context = {"cluster": self.name, "user": user, "namespace": namespace}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": self.name, "context": context}],
            "current-context": self.name,
        }
        file = self.folder / f"{user}.kubeconfig"
        file.write_text(yaml.safe_dump(content))
        return file

    # -- how it is started ------------------------------------------------------------------------

    def _run(self, program: str) -> None:
        flags = [f"--{name}={value}" for name, value in self._words[program].items()]
        self._family.start(program, [self._programs[program], *flags])

    def _until_ready(self) -> None:
        server, etcd = self.process("kube-apiserver"), self.process("etcd")
        for _ in range(int(PATIENCE / _POLL_SECONDS)):
            if server.ended_within(_POLL_SECONDS) or not etcd.runs:
                raise Ended(f"{self.name} does not come up\n{etcd.shown()}\n{server.shown()}")
            if self._is_ready():
                return
        raise Ended(f"{self.name} is not ready in {PATIENCE:.0f} s\n{self.shown()}")

    def _is_ready(self) -> bool:
        context = ssl.create_default_context(cafile=str(self.certificates.ca))
        line = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=context)
        try:
            line.request("GET", "/readyz", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
            return line.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            line.close()

    def _api_server_flags(self, etcd_port: int) -> dict[str, str]:
        own = self.certificates
        return {
            "etcd-servers": f"http://127.0.0.1:{etcd_port}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": str(self.port),
            "tls-cert-file": str(own.cert),
            "tls-private-key-file": str(own.key),
            "token-auth-file": str(self.folder / "tokens.csv"),
            "enable-bootstrap-token-auth": "true",
            "authorization-mode": "RBAC",
            # The controller that would take the taint away again does not run here.
            "disable-admission-plugins": "TaintNodesByCondition",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": str(own.accounts_public),
            "service-account-signing-key-file": str(own.accounts_key),
            "service-cluster-ip-range": "10.96.0.0/16",
            "endpoint-reconciler-type": "none",
            "profiling": "false",
        }

    def _scheduler_config(self) -> Path:
        """The defaults, but for the pace at which it may talk: the rig is in a hurry."""
        file = self.folder / "scheduler.json"
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": 500, "burst": 1000},
            "leaderElection": {"leaderElect": False},
        }
        file.write_text(json.dumps(config))
        return file

    def _controller_flags(self) -> dict[str, str]:
        return {
            "kubeconfig": str(self.kubeconfig),
            "controllers": ",".join(CONTROLLERS),
            "leader-elect": "false",
            "secure-port": "0",
            "kube-api-qps": "500",
            "kube-api-burst": "1000",
            "root-ca-file": str(self.certificates.ca),
            "service-account-private-key-file": str(self.certificates.accounts_key),
        }


def _etcd_flags(folder: Path, port: int, peer: int) -> dict[str, str]:
    client_url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    return {
        "name": "e2e",
        "data-dir": str(folder / "etcd"),
        "listen-client-urls": client_url,
        "advertise-client-urls": client_url,
        "listen-peer-urls": peer_url,
        "initial-advertise-peer-urls": peer_url,
        "initial-cluster": f"e2e={peer_url}",
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }


@contextmanager
def control_planes(
    folder: Path, *names: str, api_server_flags: Mapping[str, str] | None = None
) -> Iterator[list[ControlPlane]]:
    """Up when entered, started side by side; killed when left."""
    for program in PROGRAMS:
        require(program)
    with ThreadPoolExecutor(len(names)) as pool:
        starting = [pool.submit(_started, name, folder, api_server_flags) for name in names]
    started = [future.result() for future in starting if future.exception() is None]
    try:
        for future in starting:
            future.result()
        yield started
    finally:
        for plane in started:
            plane.stop()


def _started(name: str, folder: Path, flags: Mapping[str, str] | None) -> ControlPlane:
    """Another process may take a port between our looking and its binding."""
    for attempt in range(_ATTEMPTS):
        place = folder / f"{name}-{attempt}"
        place.mkdir()
        plane = ControlPlane(name, place, flags)
        try:
            plane.start()
            return plane
        except Ended as ended:
            plane.stop()
            if "address already in use" not in str(ended):
                raise
    raise Ended(f"every free port was taken when {name} wanted it")
