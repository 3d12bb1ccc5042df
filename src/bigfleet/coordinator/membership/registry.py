"""Providers as people register them, and which shards are attached to each.

Shards that are set up to do so attach what is registered. Others only say what they have: it is
listed beside the registered ones, and deleting it there would change nothing.
"""

from collections import defaultdict

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership.checks import require
from bigfleet.coordinator.tables import ProviderRow
from bigfleet.model.coordination import ProviderEntry
from bigfleet.model.provider_calls import Code, Rejected


def providers(book: Book) -> list[ProviderEntry]:
    """Registered or reported, by name and address."""
    found = {(entry.name, entry.address): entry for entry in registered(book)}
    attached = _attached(book)
    for memory in book.shards.values():
        for each in memory.sync.providers if memory.sync is not None else ():
            shards = attached.get(each.address, ())
            if (each.name, each.address) not in found and shards:
                entry = ProviderEntry(
                    each.name, each.address, each.region, each.supports_delete, shards
                )
                found[each.name, each.address] = entry
    return [found[name] for name in sorted(found)]


def registered(book: Book) -> tuple[ProviderEntry, ...]:
    """What shards may attach, by name."""
    rows = book.tables.providers.rows
    if not rows:
        return ()
    attached = _attached(book)
    return tuple(
        ProviderEntry(
            row.name, row.address, row.region, row.supports_delete, attached.get(row.address, ())
        )
        for row in sorted(rows.values(), key=lambda row: row.name)
    )


def upsert_provider(book: Book, draft: Draft, entry: ProviderEntry) -> ProviderEntry:
    """Raises Rejected. Who is attached is seen, not said."""
    require(name=entry.name, address=entry.address)
    for row in draft.providers.values():
        if row.address == entry.address and row.name != entry.name:
            raise Rejected(
                Code.ALREADY_EXISTS,
                f"address {entry.address} is registered as provider {row.name}: delete that one"
                " first, or use its name",
            )
    before = draft.providers.get(entry.name)
    row = ProviderRow(entry.name, entry.address, entry.region, entry.supports_delete)
    if before != row:
        draft.providers.put(row)
        where = f"at {row.address}" + (f" in {row.region}" if row.region else "")
        draft.note("provider_registered", row.name, f"provider {row.name} is {where}")
    return ProviderEntry(
        row.name,
        row.address,
        row.region,
        row.supports_delete,
        _attached(book).get(row.address, ()),
    )


def delete_provider(book: Book, draft: Draft, name: str) -> None:
    """Raises Rejected."""
    require(name=name)
    row = draft.providers.get(name)
    if row is None:
        raise Rejected(Code.NOT_FOUND, f"no provider is registered as {name}; list them")
    if users := _attached(book).get(row.address, ()):
        raise Rejected(
            Code.ABORTED,
            f"provider {name} is attached to {', '.join(users)}: detach it there first",
        )
    draft.providers.delete(name)
    draft.note("provider_deleted", name, f"provider {name} is no longer registered")


def _attached(book: Book) -> dict[str, tuple[str, ...]]:
    """Shards by the address of their providers, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in book.tables.shards.rows.values():
        if not row.removed:
            for address in row.providers:
                found[address].append(row.id)
    return {address: tuple(sorted(shards)) for address, shards in found.items()}
