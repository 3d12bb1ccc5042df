"""`make cluster`: a control plane to try things on, with kubelets for the machines of a provider.

It runs until it is interrupted and leaves nothing behind. What to set in other shells is printed.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path

import yaml

from bigfleet.wire.lines import TlsFiles
from tests.e2e.assets import REMEDY, found, missing
from tests.e2e.rig.api import KubeApi
from tests.e2e.rig.control_plane import ADMIN_TOKEN, PROGRAMS, ControlPlane, control_planes
from tests.e2e.rig.node_actor import acting

BUFFERS = Path(__file__).parents[1] / "crds" / "capacitybuffers.yaml"
PROVISIONING_REQUESTS = "provisioningrequests.yaml"


def main() -> None:
    words = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    words.add_argument("--name", default="shop", help="the cluster's name in the fleet")
    words.add_argument("--provider", default="127.0.0.1:9000", help="whose machines become Nodes")
    words.add_argument("--certs", type=Path, help="folder of `bigfleet certs`; none: plaintext")
    words.add_argument("--shard", default="shard-0", help="whose certificate shows us in")
    said = words.parse_args()
    if absent := missing(*PROGRAMS, "kubectl", "helm", PROVISIONING_REQUESTS):
        sys.exit(f"the control plane lacks {', '.join(absent)}: {REMEDY}")
    tls = tls_of(said.certs, said.shard) if said.certs else None
    with (
        tempfile.TemporaryDirectory(prefix="bigfleet-cluster-") as folder,
        control_planes(Path(folder), said.name) as (plane,),
    ):
        sys.stdout.write(f"{introduction(plane)}\n")
        sys.stdout.flush()
        asyncio.run(_played(plane, said.provider, tls))


def tls_of(certs: Path, shard: str) -> TlsFiles:
    own = certs / f"shard-{shard}"
    return TlsFiles(own / "tls.crt", own / "tls.key", certs / "ca.crt")


def programs_path() -> str:
    """Folders of kubectl and helm, as PATH has them."""
    places = [path.parent for name in ("kubectl", "helm") if (path := found(name)) is not None]
    return os.pathsep.join(str(place) for place in dict.fromkeys(places))


def introduction(plane: ControlPlane) -> str:
    return (
        f"cluster {plane.name} is up at {plane.url}; in another shell:\n\n"
        f"export KUBECONFIG={plane.kubeconfig}\n"
        f"export PATH={programs_path()}:$PATH\n\n"
        f"Ctrl-C ends it, and everything in it."
    )


async def _played(plane: ControlPlane, provider: str, tls: TlsFiles | None) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    api = KubeApi(plane.url, plane.certificates.ca, ADMIN_TOKEN)
    # As a cluster has them from its own autoscaler; docs/kubernetes.md makes use of them.
    for file in (BUFFERS, found(PROVISIONING_REQUESTS)):
        if file is not None:
            await api.apply(yaml.safe_load(file.read_text()), "default")
    async with acting(api, plane.name, provider, tls=tls):
        await asked.wait()
    await api.close()


if __name__ == "__main__":
    main()
