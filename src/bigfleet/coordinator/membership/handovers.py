"""How a domain, or the default ownership of a provider, changes hands.

Law: at most one shard may act on what a pair stands for. A row lists its holders, the shards that
may still act there; while there is one, the pair has no owner. Each of them is told to give it up,
and the transaction that takes the last acknowledgement makes the target the owner. Nothing here
waits for a shard: a holder that never answers is cleared when its shard is removed.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import islice

from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.tables import (
    DefaultRow,
    DomainRow,
    InstructionRow,
    PartitionKeysRow,
    told_about,
)
from bigfleet.model.coordinator_calls import CoordinatorInstruction, InstructionKind
from bigfleet.model.ownership import PROVIDER_KEY, Pair, key_order

ASSIGN, UNASSIGN = InstructionKind.ASSIGN_DOMAIN, InstructionKind.UNASSIGN_DOMAIN
_STEP = {ASSIGN: "assign", UNASSIGN: "unassign"}

#: Rows after which a transaction takes up nothing more: etcd takes 128, and a step needs some.
FULL = 80
#: Holders that are asked at a time, so that a hand-over from very many fits one transaction.
WAVE = 64

Holding = DomainRow | DefaultRow


def pair_text(pair: Pair) -> str:
    key, value = pair
    if key == PROVIDER_KEY:
        return f"the default ownership of provider {value}"
    return f"domain {key}={value}"


# -- rows ----------------------------------------------------------------------------------------


def holding(draft: Draft, pair: Pair) -> Holding | None:
    key, value = pair
    return draft.defaults.get(value) if key == PROVIDER_KEY else draft.domains.get(key, value)


def put(draft: Draft, pair: Pair, shard: str, holders: tuple[str, ...] = ()) -> None:
    key, value = pair
    if key == PROVIDER_KEY:
        draft.defaults.put(DefaultRow(value, shard, holders))
    else:
        draft.domains.put(DomainRow(key, value, shard, holders))


def delete(draft: Draft, pair: Pair) -> None:
    key, value = pair
    if key == PROVIDER_KEY:
        draft.defaults.delete(value)
    else:
        draft.domains.delete(key, value)


def is_member(draft: Draft, shard: str) -> bool:
    row = draft.shards.get(shard)
    return row is not None and not row.removed


# -- who may hold what ---------------------------------------------------------------------------


def may_hold(draft: Draft, key: str) -> set[str]:
    """Who may own machines of a domain of this key that has no row: default owners, and owners
    by keys that are asked later.

    Of all rows only their marks are asked: there may be a hundred thousand.
    """
    found = {shard for row in draft.defaults.values() for shard in (row.shard, *row.holders)}
    order = keys_in_order(draft, key)
    later = set(order[order.index(key) + 1 :])
    if later:
        for mark, rows in marks(draft).items():
            assert isinstance(mark, tuple), "domains are marked by key and shard"
            if rows > 0 and mark[0] in later:
                found.add(mark[1])
    return found - {""}


def keys_in_order(draft: Draft, *more: str) -> tuple[str, ...]:
    listed = (draft.partition_keys.get() or PartitionKeysRow()).keys
    used = {*draft.domains.table.by_first, *(key[0] for key in draft.domains.changed), *more}
    return key_order(listed, used)


def marks(draft: Draft) -> Counter[Hashable]:
    """How many domains of a key each shard owns, awaits or holds: (key, shard) -> rows."""
    table = draft.domains.table
    if not draft.domains.changed:
        return table.counts
    counts = Counter(table.counts)
    for key, row in draft.domains.changed.items():
        if (old := table.rows.get(key)) is not None:
            counts.subtract(table.marks_of(old))
        if row is not None:
            counts.update(table.marks_of(row))
    return counts


# -- steps ---------------------------------------------------------------------------------------


def hand_over(draft: Draft, pair: Pair, to: str, holders: Iterable[str]) -> None:
    """`to` empty: the row is deleted in the end. Holders that are not members hold nothing."""
    before = holding(draft, pair)
    draft.new_revision()
    waiting = tuple(sorted(h for h in {*holders} - {to} if is_member(draft, h)))
    for shard in {before.shard if before is not None else "", to} - {""}:
        # What it was told of the pair before is overtaken: it owns it, or is to give it up.
        kind = ASSIGN if shard in waiting else UNASSIGN
        for row in told(draft, shard, pair, kind):
            draft.drop_instruction(row)
    if not waiting:
        _complete(draft, pair, to)
        return
    put(draft, pair, to, waiting)
    ask_first(draft, pair, waiting)
    target = f"it goes to {to}" if to else "then no shard owns it by name"
    draft.note(
        "handover_begun",
        subject_of(pair),
        f"{pair_text(pair)} is given up by {', '.join(waiting)}; {target}",
    )


def on_given_up(draft: Draft, shard: str, pair: Pair, why: str) -> None:
    """`shard` acts there no more; where it was the last, the target owns the pair."""
    row = holding(draft, pair)
    if row is None or shard not in row.holders:
        return
    left = tuple(each for each in row.holders if each != shard)
    draft.note("given_up", subject_of(pair), f"{shard} no longer holds {pair_text(pair)}: {why}")
    if left:
        put(draft, pair, row.shard, left)
        ask_first(draft, pair, left)
    else:
        _complete(draft, pair, row.shard)


def _complete(draft: Draft, pair: Pair, to: str) -> None:
    draft.new_revision()
    if not to:
        delete(draft, pair)
        draft.note("unassigned", subject_of(pair), f"{pair_text(pair)} has no row any more")
        return
    put(draft, pair, to)
    tell(draft, to, pair, ASSIGN)
    draft.note("assigned", subject_of(pair), f"{to} has {pair_text(pair)}")


# -- instructions --------------------------------------------------------------------------------


def ask_first(draft: Draft, pair: Pair, holders: Iterable[str]) -> None:
    """Tells the first holders to give the pair up, unless they were told already."""
    for shard in islice(holders, WAVE):
        if not is_asked(draft, shard, pair):
            tell(draft, shard, pair, UNASSIGN)


def is_asked(draft: Draft, shard: str, pair: Pair) -> bool:
    return bool(told(draft, shard, pair, UNASSIGN))


def tell(draft: Draft, shard: str, pair: Pair, kind: InstructionKind) -> None:
    # The number is the one its row will have: an acknowledgement finds it without a search.
    name = f"dom-{draft.numbers.next}/{_STEP[kind]}"
    key, value = pair
    draft.instruct(
        shard, CoordinatorInstruction(name, kind, topology_key=key, topology_value=value)
    )


def told(draft: Draft, shard: str, pair: Pair, kind: InstructionKind) -> list[InstructionRow]:
    """What the shard was told of the pair and has not acknowledged."""
    table, changed = draft.instructions.table, draft.instructions.changed
    rows: Iterable[InstructionRow | None] = ()
    if table.counts[told_about(shard, pair)] > 0:
        rows = draft.instructions.of_first(shard)
    elif changed:
        rows = changed.values()
    return [
        row
        for row in rows
        if row is not None
        and row.shard == shard
        and row.instruction.kind is kind
        and pair_of(row.instruction) == pair
    ]


def pair_of(instruction: CoordinatorInstruction) -> Pair:
    return instruction.topology_key, instruction.topology_value


def subject_of(pair: Pair) -> str:
    """For notes: what they are about."""
    return "=".join(pair)
