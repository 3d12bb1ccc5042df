"""What every call checks before it changes anything; refusals name the field and what to do."""

from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.tables import ShardRow
from bigfleet.model.provider_calls import Code, Rejected


def require(**fields: str) -> None:
    """Raises Rejected for the first that is empty."""
    for name, value in fields.items():
        if not value:
            raise Rejected(Code.INVALID_ARGUMENT, f"{name} is empty: give it a value")


def require_shard(draft: Draft, shard: str) -> ShardRow:
    """Raises Rejected where no such shard is a member."""
    row = draft.shards.get(shard)
    if row is None:
        raise Rejected(
            Code.NOT_FOUND,
            f"shard_id {shard} is not known: a shard is known once it has reported; list the shards"
            " to see their names",
        )
    if row.removed:
        raise Rejected(
            Code.NOT_FOUND, f"shard_id {shard} is being removed: let it report again afterwards"
        )
    return row


def not_while_merging(draft: Draft) -> None:
    if draft.numbers.merging:
        raise Rejected(
            Code.UNAVAILABLE,
            "the coordinator was restored from a snapshot and still learns from the shards what"
            " they hold: try again when every shard has synced, or remove those that will not",
        )
