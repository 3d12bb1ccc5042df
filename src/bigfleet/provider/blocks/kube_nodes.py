"""KubeNodeReady: waits until the cluster itself shows the host's node as Ready.

One List of the nodes answers all calls that wait for that cluster; it is made again every few
seconds while a call waits. A cluster that cannot be reached is asked again, never given up: the
server has the deadline.
"""

import asyncio
import base64
import binascii
import os
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import yaml

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.driver import RealClock
from bigfleet.model.errors import BadInput, Problem
from bigfleet.provider.backend import Permanent

FOLDER = "BIGFLEET_KUBECONFIGS"
POLL_SECONDS = 2.0
_CALL_SECONDS = 15.0
_PAGE = 500


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Spec(msgspec.Struct):
    provider_id: str = msgspec.field(default="", name="providerID")


class _Metadata(msgspec.Struct):
    name: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class Node(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)

    def is_of(self, provider_id: str, node_name: str) -> bool:
        """By the whole providerID, by its last segment, or by the node's name."""
        ours, theirs = provider_id, self.spec.provider_id
        if node_name and self.metadata.name == node_name:
            return True
        return bool(ours) and ours in (theirs, theirs.rpartition("/")[2])


#: The nodes of one cluster now; OSError where it cannot be asked.
Look = Callable[[], Iterable[Node]]


@dataclass(slots=True)
class _Seen:
    look: Look
    lock: asyncio.Lock
    at: int = -1
    nodes: tuple[Node, ...] = ()


class KubeNodeReady:
    def __init__(
        self,
        kubeconfigs: Mapping[str, Path | Look],
        clock: Clock | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        """Cluster -> its kubeconfig, or another thing that can look at its nodes."""
        self._clock = clock or RealClock()
        self._poll_seconds = poll_seconds
        self._clusters = {
            cluster: _Seen(found if callable(found) else looker_of(found), asyncio.Lock())
            for cluster, found in kubeconfigs.items()
        }

    @classmethod
    def from_env(cls, clock: Clock | None = None) -> "KubeNodeReady":
        """Every `<cluster>.yaml` of the folder BIGFLEET_KUBECONFIGS."""
        folder = os.environ.get(FOLDER, "")
        if not folder or not Path(folder).is_dir():
            raise BadInput([Problem(FOLDER, "name the folder with <cluster>.yaml kubeconfigs")])
        return cls({path.stem: path for path in sorted(Path(folder).glob("*.yaml"))}, clock)

    async def wait(self, cluster_id: str, *, provider_id: str = "", node_name: str = "") -> None:
        """Returns when the node is Ready."""
        seen = self._clusters.get(cluster_id)
        if seen is None:
            raise Permanent(f"no kubeconfig for cluster {cluster_id}")
        while True:
            nodes = await self._nodes(seen)
            if any(node.ready and node.is_of(provider_id, node_name) for node in nodes):
                return
            await self._clock.sleep(self._poll_seconds)

    async def _nodes(self, seen: _Seen) -> tuple[Node, ...]:
        async with seen.lock:
            if seen.at < 0 or self._clock.now() - seen.at >= self._poll_seconds * SECOND:
                try:
                    seen.nodes = await asyncio.to_thread(lambda: tuple(seen.look()))
                except (OSError, msgspec.DecodeError):
                    seen.nodes = ()  # not Ready as far as is known; asked again
                seen.at = self._clock.now()
            return seen.nodes


def looker_of(kubeconfig: Path) -> Look:
    """Reads the current context: server, CA, and a token or a client certificate."""
    try:
        document = yaml.safe_load(kubeconfig.read_bytes())
        context = _named(document, "contexts", document["current-context"])["context"]
        cluster = _named(document, "clusters", context["cluster"])["cluster"]
        user = _named(document, "users", context["user"])["user"]
        secured = _secured(cluster, user, kubeconfig.parent)
    except (OSError, KeyError, TypeError, StopIteration, yaml.YAMLError, binascii.Error) as bad:
        raise BadInput([Problem(str(kubeconfig), f"is not a usable kubeconfig: {bad!r}")]) from None
    server = str(cluster["server"]).rstrip("/")

    def look() -> Iterable[Node]:
        token = user.get("token") or _text_of(user.get("tokenFile"), kubeconfig.parent)
        following = ""
        while True:
            address = f"{server}/api/v1/nodes?limit={_PAGE}&continue={quote(following)}"
            request = urllib.request.Request(address)
            if token:
                request.add_header("Authorization", f"Bearer {token}")
            with urllib.request.urlopen(request, timeout=_CALL_SECONDS, context=secured) as answer:
                page = msgspec.json.decode(answer.read(), type=_NodeList)
            yield from page.items
            following = page.metadata.following
            if not following:
                return

    return look


class _ListMetadata(msgspec.Struct):
    following: str = msgspec.field(default="", name="continue")


class _NodeList(msgspec.Struct):
    metadata: _ListMetadata = msgspec.field(default_factory=_ListMetadata)
    items: list[Node] = []


def _named(document: Mapping[str, Any], kind: str, name: str) -> Any:
    return next(entry for entry in document[kind] if entry["name"] == name)


def _text_of(file: str | None, folder: Path) -> str:
    return (folder / file).read_text().strip() if file else ""


def _secured(
    cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path
) -> ssl.SSLContext | None:
    if not str(cluster["server"]).startswith("https:"):
        return None
    authority = _content(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    certificate = _content(user, "client-certificate", folder)
    key = _content(user, "client-key", folder)
    if certificate and key:
        with tempfile.NamedTemporaryFile() as pair:  # ssl reads keys from files only; mode 0600
            pair.write(certificate + b"\n" + key)
            pair.flush()
            context.load_cert_chain(pair.name)
    return context


def _content(entry: Mapping[str, Any], name: str, folder: Path) -> bytes:
    if data := entry.get(f"{name}-data"):
        return base64.b64decode(data, validate=True)
    return (folder / entry[name]).read_bytes() if entry.get(name) else b""
