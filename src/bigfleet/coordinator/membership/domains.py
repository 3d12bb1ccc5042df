"""What people ask about domains and default owners; how they change hands is handovers.py.

A domain that has an owner must be given up before another shard gets it: assigning it over the
owner's head is refused. The default owner of a provider may be replaced in one step.
"""

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import handovers
from bigfleet.coordinator.membership.checks import not_while_merging, require, require_shard
from bigfleet.model.coordination import DomainAssignment
from bigfleet.model.ownership import PROVIDER_KEY, Pair
from bigfleet.model.provider_calls import Code, Rejected


def assign(book: Book, draft: Draft, key: str, value: str, shard: str) -> None:
    """Raises Rejected. A repeated call asks again the holders that never answered."""
    require(topology_key=key, topology_value=value, shard_id=shard)
    _no_provider_key(key)
    not_while_merging(draft)
    require_shard(draft, shard)
    pair = (key, value)
    row = draft.domains.get(key, value)
    if row is not None and row.shard == shard:
        _remind(draft, pair)
        return
    if row is not None and row.shard:
        how = f"is on its way to {row.shard}" if row.holders else f"is owned by {row.shard}"
        raise Rejected(
            Code.ALREADY_EXISTS,
            f"{handovers.pair_text(pair)} {how}: unassign it first, then assign it to {shard}",
        )
    held = row.holders if row is not None else ()
    handovers.hand_over(draft, pair, shard, {*held, *handovers.may_hold(draft, key)})


def unassign(book: Book, draft: Draft, key: str, value: str) -> None:
    """Raises Rejected. What has no row is unassigned already."""
    require(topology_key=key, topology_value=value)
    _no_provider_key(key)
    not_while_merging(draft)
    row = draft.domains.get(key, value)
    if row is None:
        return
    if not row.shard:
        _remind(draft, row.pair)
        return
    handovers.hand_over(draft, row.pair, "", _held(row))


def set_default_owner(book: Book, draft: Draft, provider_address: str, shard: str) -> str:
    """The owner as it is shown now: empty while it changes hands. Raises Rejected."""
    require(provider_address=provider_address, shard_id=shard)
    not_while_merging(draft)
    require_shard(draft, shard)
    pair = (PROVIDER_KEY, provider_address)
    row = draft.defaults.get(provider_address)
    if row is not None and row.shard == shard:
        _remind(draft, pair)
        return row.owner
    handovers.hand_over(draft, pair, shard, _held(row))
    now = draft.defaults.get(provider_address)
    return now.owner if now is not None else ""


def on_unassigned(book: Book, draft: Draft, shard: str, pair: Pair) -> None:
    """The shard has acknowledged that it gave the pair up."""
    handovers.on_given_up(draft, shard, pair, "it has acknowledged")


def assignments(book: Book) -> list[DomainAssignment]:
    rows = sorted(book.tables.domains.rows.values(), key=lambda row: row.pair)
    return [DomainAssignment(row.key, row.value, row.owner) for row in rows]


def default_owners(book: Book) -> list[tuple[str, str]]:
    """Address and owner; no owner while it changes hands."""
    return sorted((row.provider, row.owner) for row in book.tables.defaults.rows.values())


def offer_default(draft: Draft, shard: str, provider_address: str) -> None:
    """A provider that is new here goes to the first shard that has it, whole.

    Not where domains are assigned to a shard that has it: then a person decides who gets the rest.
    """
    if not provider_address or draft.defaults.get(provider_address) is not None:
        return
    attached = {row.id for row in draft.shards.values() if provider_address in row.providers}
    owners = {
        mark[1]
        for mark, rows in handovers.marks(draft).items()
        if rows > 0 and isinstance(mark, tuple)
    }
    if attached & owners:
        return
    draft.new_revision()
    handovers.put(draft, (PROVIDER_KEY, provider_address), shard)
    draft.note(
        "assigned",
        provider_address,
        f"{shard} is the default owner of provider {provider_address}: it is the first shard there"
        " and no domain is assigned",
    )


def _held(row: handovers.Holding | None) -> set[str]:
    """The shards that may act there, the target included: it may have been the owner before, and
    was not asked to give the pair up while it was to have it again.
    """
    return set() if row is None else {*row.holders, row.shard} - {""}


def _remind(draft: Draft, pair: Pair) -> None:
    """Holders whose instruction was given up are told again; the rest is as it is."""
    row = handovers.holding(draft, pair)
    if row is not None:
        handovers.ask_first(draft, pair, row.holders)


def _no_provider_key(key: str) -> None:
    if key == PROVIDER_KEY:
        raise Rejected(
            Code.INVALID_ARGUMENT,
            f"topology_key {PROVIDER_KEY} stands for default owners: use SetDefaultOwner",
        )
