"""docs/reference/rpcs.md: every RPC, what it does, and whose certificate may call it.

Who may call is asked of the code that decides it, with one certificate of each role.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bigfleet.model.provider_calls import Peer, Rejected, Token
from bigfleet.model.syntax import ADMIN, READONLY
from bigfleet.provider.ledger.decisions import why_not_read, why_not_this_caller
from bigfleet.wire.authorisation import GATES, TABLES
from bigfleet.wire.provider_admin import PROVIDER_ADMIN
from bigfleet.wire.rpcs import CLUSTER_PREFIX, SHARD_PREFIX, Gate, require
from bigfleet.wire.rpcs import Rpc as Entry
from bigfleet.wire.sim_control import SIM_CONTROL
from tests.architecture.tree import PACKAGE
from tests.site.markdown import anchor, code, page, section, table, text

PROTOS = PACKAGE / "protos" / "bigfleet"
#: One certificate of each role; the words in which the page names it.
ROLES = {
    ADMIN: "admin",
    READONLY: "readonly",
    f"{CLUSTER_PREFIX}shop": "cluster",
    f"{SHARD_PREFIX}shard-0": "shard",
}
#: The table of RPCs by path. Sessions and a provider's calls of shards have no entry: their codecs
#: are written by hand for speed.
ENTRIES: dict[str, Entry] = {
    rpc.path: rpc
    for service in (*TABLES, PROVIDER_ADMIN, SIM_CONTROL)
    for rpc in service.rpcs.values()
}
BY_HAND = ("bigfleet.v1alpha1.Shard", "bigfleet.v1alpha1.CapacityProvider")
#: Who serves a service, and on which port.
SERVERS = {
    "Shard": "a shard",
    "ShardRead": "a shard",
    "ShardAdmin": "a shard",
    "Coordinator": "the coordinator",
    "CoordinatorAdmin": "the coordinator",
    "CapacityProvider": "a provider",
    "ProviderAdmin": "a provider",
    "SimControl": "the simulated provider",
}
_INTRODUCTION = """\
The services of BigFleet's processes, from the protobuf files under `src/bigfleet/protos`. With
mTLS a caller has one name in its certificate (`bigfleet certs` makes them), and "who may call"
says which names are let in: `admin` is `bigfleet://admin` and every `bigfleet://admin/<name>`,
`readonly` is `bigfleet://readonly`, `cluster` is `bigfleet://cluster/<id>` and `shard` is
`bigfleet://shard/<id>`. A cluster and a shard speak for themselves only: the id of the
certificate is compared with that of the request. Without TLS callers are not checked. An RPC
that the table of the server does not name is refused. Health and reflection, the standard gRPC
services, are open to every caller that passes the handshake. "verb" is the verb of the command line
that calls the RPC, the first where several do. See [Security](../security.md)."""
_SERVICE = re.compile(
    r"(?P<comment>(?:^//[^\n]*\n)*)^service (?P<name>\w+) \{\n(?P<body>.*?)^\}", re.M | re.S
)
_RPC = re.compile(
    r"(?P<comment>(?:^ +//[^\n]*\n)*)^ +rpc (?P<name>\w+)\((?P<asked>[^)]+)\)"
    r" returns \((?P<answer>[^)]+)\)",
    re.M,
)
_PACKAGE = re.compile(r"^package ([\w.]+);", re.M)


@dataclass(frozen=True, slots=True)
class Rpc:
    service: str
    name: str
    asked: str
    answer: str
    comment: str

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    comment: str
    rpcs: tuple[Rpc, ...]

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]


def rpcs_page() -> str:
    found = {each.short_name: each for each in services()}
    assert set(found) == set(SERVERS), "a service of the protos has no line in SERVERS"
    return page("RPCs", _INTRODUCTION, *(_service(found[name]) for name in SERVERS))


def services() -> list[Service]:
    return [
        service
        for version in ("v1alpha1", "admin/v1alpha1")
        for path in sorted((PROTOS / version).glob("*.proto"))
        for service in _services_in(path)
    ]


def _services_in(path: Path) -> Iterator[Service]:
    source = path.read_text()
    package = _PACKAGE.search(source)
    assert package, path
    for each in _SERVICE.finditer(source):
        name = f"{package[1]}.{each['name']}"
        rpcs = tuple(
            Rpc(name, rpc["name"], rpc["asked"], rpc["answer"], _words(rpc["comment"]))
            for rpc in _RPC.finditer(each["body"])
        )
        yield Service(name, _words(each["comment"]), rpcs)


def _words(comment: str) -> str:
    return " ".join(line.strip().removeprefix("//").strip() for line in comment.splitlines())


def _service(service: Service) -> str:
    rows = [
        (
            f"{anchor(f'{service.short_name}.{rpc.name}')}`{rpc.name}`",
            code(rpc.asked),
            code(rpc.answer),
            ", ".join(callers(rpc)),
            verb_of(rpc),
            text(rpc.comment),
        )
        for rpc in service.rpcs
    ]
    words = f"`{service.name}`, served by {SERVERS[service.short_name]}. {text(service.comment)}"
    heads = ("RPC", "request", "answer", "who may call", "verb", "what it does")
    return section(service.short_name, words, table(heads, rows))


def verb_of(rpc: Rpc) -> str:
    """Empty where only processes call it."""
    entry = ENTRIES.get(rpc.path)
    return code(f"bigfleet {entry.verb}") if entry and entry.verb else ""


def callers(rpc: Rpc) -> list[str]:
    may = _rule_of(rpc)
    return [role for identity, role in ROLES.items() if may(Peer(identity, authenticated=True))]


def _rule_of(rpc: Rpc) -> Callable[[Peer], bool]:
    """What the server of this RPC asks before it answers."""
    entry = ENTRIES.get(rpc.path)
    if gate := entry.gate if entry else GATES.get(rpc.path):
        # The shard's name is compared when its request is read.
        if gate is Gate.SHARD:
            return lambda peer: (peer.identity or "").startswith(SHARD_PREFIX)
        return _passes(lambda peer: require(gate, peer))
    assert rpc.service.endswith(".CapacityProvider"), f"who may call {rpc.path}?"
    if rpc.name in ("Get", "List"):
        return lambda peer: why_not_read(peer) is None
    return lambda peer: why_not_this_caller(peer, Token("shard-0", 1, 1)) is None


def _passes(gate: Callable[[Peer], None]) -> Callable[[Peer], bool]:
    def passes(peer: Peer) -> bool:
        try:
            gate(peer)
        except Rejected:
            return False
        return True

    return passes
