"""Ownership views as bytes and back: a hundred thousand domains, sent to hundreds of shards.

The domains of a view are the same mapping for every shard until one of them changes, so their bytes
are made once per mapping and joined from rows that are kept: after a change only the changed rows
are written anew. Equal views in equal order have equal bytes, the very ones protobuf would write.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.ownership import MachineOverride, Owners, OwnershipView, Pair, key_order
from bigfleet.wire.machines import length_bytes

#: Field 3 of OwnershipView, and the fields of a DomainAssignment.
_DOMAIN = b"\x1a"
_KEY, _VALUE, _SHARD = b"\x0a", b"\x12", b"\x1a"
#: Keys and shards whose bytes are kept.
_REMEMBERED = 1_024


class ViewWriter:
    """Remembers the rows it wrote; used by one thread at a time."""

    def __init__(self) -> None:
        #: Whose bytes `_joined` is, and whose rows `_rows` are, in the same order.
        self._domains: Mapping[Pair, str] | None = None
        self._joined = b""
        self._rows: dict[Pair, bytes] = {}

    def of(self, view: OwnershipView) -> bytes:
        return b"".join(self.parts(view))

    def has_written(self, view: OwnershipView) -> bool:
        """Whether its domains are those of the last one: then little is left to do."""
        return view.domains is self._domains

    def parts(self, view: OwnershipView) -> tuple[bytes, bytes, bytes]:
        """What joined is the view; the part in the middle is the large one."""
        head = pb.OwnershipView(revision=view.revision, partition_keys=view.keys)
        tail = pb.OwnershipView(
            overrides=[override_message(each) for each in view.overrides.values()],
            default_owners=default_messages(view.default_owners.items()),
        )
        return head.SerializeToString(), self._domain_bytes(view.domains), tail.SerializeToString()

    def _domain_bytes(self, domains: Mapping[Pair, str]) -> bytes:
        if domains is not self._domains:
            self._write(domains)
            self._joined = b"".join(self._rows.values())
            self._domains = domains
        return self._joined

    def _write(self, domains: Mapping[Pair, str]) -> None:
        known = isinstance(domains, Owners) and domains.changed_since(self._domains)
        if known is False or known is None:
            self._rows = {pair: _row_of(pair, shard) for pair, shard in domains.items()}
            return
        for pair in known:
            shard = domains.get(pair)
            if shard is None:
                self._rows.pop(pair, None)
            else:
                self._rows[pair] = _row_of(pair, shard)


def _row_of(pair: Pair, shard: str) -> bytes:
    """By hand: there are many of them, and a new leader is waited for."""
    key, value = pair
    content = b"".join((_text(_KEY, key), _text_once(_VALUE, value), _text(_SHARD, shard)))
    return b"".join((_DOMAIN, length_bytes(len(content)), content))


def _text_once(tag: bytes, text: str) -> bytes:
    """A field; where it is empty, protobuf writes nothing."""
    content = text.encode()
    return b"".join((tag, length_bytes(len(content)), content)) if content else b""


_text = lru_cache(_REMEMBERED)(_text_once)


def view_of(message: pb.OwnershipView) -> OwnershipView:
    """Names that come again and again are kept once."""
    once: dict[str, str] = {}
    same = once.setdefault
    domains = {
        (same(key := row.topology_key, key), row.topology_value): same(shard := row.shard_id, shard)
        for row in message.domains
    }
    return OwnershipView(
        message.revision,
        domains,
        {each.machine_id: override_of(each) for each in message.overrides},
        {each.provider_address: each.shard_id for each in message.default_owners},
        key_order(message.partition_keys, {key for key, _ in domains}),
    )


def override_message(override: MachineOverride) -> pb.MachineOverride:
    return pb.MachineOverride(
        machine_id=override.machine,
        shard_id=override.shard,
        home_shard_id=override.home,
        transfer_id=override.transfer,
    )


def override_of(message: pb.MachineOverride) -> MachineOverride:
    return MachineOverride(
        message.machine_id, message.shard_id, message.home_shard_id, message.transfer_id
    )


def default_messages(owners: Iterable[tuple[str, str]]) -> Iterator[pb.DefaultOwner]:
    return (pb.DefaultOwner(provider_address=address, shard_id=shard) for address, shard in owners)
