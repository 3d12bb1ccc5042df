"""The inventory file: which hosts there are, what they are, and the hook commands that act on them.

Everything is checked when the file is read, and all problems are told at once. The file is read
again when it changes: racking a host is an edit, not a restart.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from bigfleet.provider import Permanent

_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 200


class BadInventory(Permanent):
    """The file cannot be used; the message has one line per problem."""


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: tuple[str, ...]
    #: One run of the command; a run that takes longer is killed and tried again.
    timeout_seconds: float = 120.0


class Ssh(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    #: Host keys are pinned: a host that is not in this file is not talked to.
    known_hosts: str
    user: str = "bigfleet"
    port: int = 22
    identity_file: str = ""
    connect_timeout_seconds: int = 10

    def words(self, address: str) -> tuple[str, ...]:
        identity = ("-i", self.identity_file) if self.identity_file else ()
        return (
            "ssh",
            "-o", "BatchMode=yes",
            "-o", "StrictHostKeyChecking=yes",
            "-o", f"UserKnownHostsFile={self.known_hosts}",
            "-o", f"ConnectTimeout={self.connect_timeout_seconds}",
            "-o", "ServerAliveInterval=5",
            "-o", "ServerAliveCountMax=3",
            "-p", str(self.port),
            *identity,
            f"{self.user}@{address}",
            "--",
        )  # fmt: skip


class Hooks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    configure: Hook
    drain: Hook
    #: Left out only with `configure_implies_ready`.
    ready: Hook | None = None
    #: Powers a host on; without it every host that is not up is simply not there.
    create: Hook | None = None
    #: Cleans a host that failed.
    reset: Hook | None = None
    #: Where one host stands: prints `up`, `down` or `bound CLUSTER`.
    inspect: Hook | None = None
    #: Where all hosts stand, always run here: lines like `NAME up` or `NAME bound CLUSTER`.
    survey: Hook | None = None
    configure_implies_ready: bool = False
    via: Literal["local", "ssh"] = "local"
    ssh: Ssh | None = None
    ready_poll_seconds: float = 5.0


class HostType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    resources: dict[str, str]
    allocatable: dict[str, str] = {}
    price_per_hour: float = 0.0


class RackedHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    #: The machine's id, for ever.
    name: str
    type: str
    zone: str = ""
    rack: str = ""
    #: What hooks connect to; the name if empty.
    address: str = ""
    #: What Kubernetes calls the node; the name if empty.
    node_name: str = ""
    #: The node's providerID or its last segment; the name if empty.
    ref: str = ""
    labels: dict[str, str] = {}


class Racks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    hooks: Hooks
    types: dict[str, HostType]
    hosts: tuple[RackedHost, ...]
    region: str = ""
    #: For hosts that name none.
    zone: str = ""

    def zone_of(self, host: RackedHost) -> str:
        return host.zone or self.zone


def racks_in(path: Path) -> Racks:
    """The racks of an inventory file, YAML or JSON."""
    try:
        racks = msgspec.yaml.decode(path.read_bytes(), type=Racks)
    except OSError as error:
        raise BadInventory(f"{path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise BadInventory(f"{path}: {error}") from None
    if problems := list(problems_of(racks)):
        raise BadInventory("\n".join(f"{path}: {problem}" for problem in problems))
    return racks


def problems_of(racks: Racks) -> Iterator[str]:
    yield from _problems_of_hooks(racks.hooks)
    seen: set[str] = set()
    for host in racks.hosts:
        if not _DNS_NAME.fullmatch(host.name) or len(host.name) > _LONGEST_NAME:
            yield f"host {host.name!r}: write the name as a lower-case DNS name"
        if host.name in seen:
            yield f"host {host.name!r} is listed twice"
        seen.add(host.name)
        if host.type not in racks.types:
            yield f"host {host.name!r}: the type {host.type!r} is not among the types"
        if not racks.zone_of(host):
            yield f"host {host.name!r}: give it a zone, or give the file one"
        if host.address.startswith("-"):
            yield f"host {host.name!r}: the address {host.address!r} would be read as an option"


def _problems_of_hooks(hooks: Hooks) -> Iterator[str]:
    named = ("configure", "drain", "ready", "create", "reset", "inspect", "survey")
    for name in named:
        hook: Hook | None = getattr(hooks, name)
        if hook is not None and not hook.command:
            yield f"hook {name}: the command is empty"
        if hook is not None and not hook.timeout_seconds > 0:
            yield f"hook {name}: a timeout is more than 0 seconds"
    if hooks.ready is None and not hooks.configure_implies_ready:
        yield (
            "hook ready is missing: a machine is not Configured before its node is Ready; set "
            "configure_implies_ready where a finished configure already proves it"
        )
    if hooks.create is not None and hooks.survey is None:
        yield "hook create needs the hook survey: nothing else tells which hosts are down"
    if hooks.via == "ssh" and hooks.ssh is None:
        yield "hooks run via ssh, so give ssh its known_hosts"
