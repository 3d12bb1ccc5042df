"""In which order the keys of domains are asked, and when that may change.

Law: a new order gives no machine another owner. Owners change in two steps, with the old one's
consent, and an order cannot wait for a shard: two shards would act on one machine until the slower
of them has heard of it. So the order of keys that have domains stays.
"""

from collections.abc import Sequence

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.tables import PartitionKeysRow
from bigfleet.model.ownership import key_order


def set_partition_keys(book: Book, draft: Draft, keys: Sequence[str]) -> str:
    """Empty, or why they stay as they were."""
    wanted, stored = tuple(keys), book.partition_keys
    if wanted == stored:
        return ""
    said = f"partition_keys stay {_listed(stored)} and do not become {_listed(wanted)}"
    if book.merging:
        return f"{said}: it is not yet known who holds what since the restore; restart after that"
    used = sorted(book.tables.domains.by_first)
    before, after = key_order(stored, used), key_order(wanted, used)
    if _of(before, used) != _of(after, used):
        return (
            f"{said}: domains of {_listed(used)} are assigned, and another order would give their "
            "machines another owner at once; unassign the domains of the keys that move, restart, "
            "and assign them again"
        )
    draft.partition_keys.put(PartitionKeysRow(wanted))
    draft.new_revision()
    draft.note("partition_keys", "", f"keys of domains are asked in the order {_listed(wanted)}")
    return ""


def _of(keys: Sequence[str], used: Sequence[str]) -> list[str]:
    return [key for key in keys if key in used]


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys) or "none"
