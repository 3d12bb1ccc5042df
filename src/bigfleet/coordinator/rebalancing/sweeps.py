"""The sweep: what is overdue ends, idle machines go home, shortfalls that last are helped.

Once an interval, one at a time. Most urgent first: by priority, then the oldest, then by name, so
that two leaders with the same rows and the same reports would do the same.
"""

import sys
from collections import Counter, defaultdict

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing import endings, layers
from bigfleet.coordinator.rebalancing.grants import grant_if_possible
from bigfleet.coordinator.rebalancing.home_returns import note_idle, open_returns
from bigfleet.coordinator.rebalancing.pruned_rows import prune
from bigfleet.coordinator.rebalancing.rests import nanoseconds, stop_scope
from bigfleet.coordinator.rebalancing.scene import Scene
from bigfleet.coordinator.rebalancing.shortages import Shortage
from bigfleet.coordinator.rebalancing.transfer_start import TransferRequest, open_transfer, pass_on
from bigfleet.coordinator.rebalancing.transfers import abandon_open, end_without
from bigfleet.coordinator.tables import CooldownRow, TransferRow
from bigfleet.model.coordination import ShortfallDetail, TransferState
from bigfleet.model.reasons import Reason, duration_text, resources_text

#: Rows of one sweep: etcd takes 128 in a transaction.
MOST_ROWS = 100
#: Shortfalls of one piece of it, and shapes of which all donors are looked at: some 5 ms each.
PIECE, SHAPES = 250, 5
#: Of these, rows that only tidy up.
MOST_PRUNED = 40

LAYERS = (
    "off",
    "receiver",
    "topology",
    "age",
    "persistence",
    "open",
    "cooldown",
    "progress",
    "sweep",
    "donor",
    "declined",
    "direction",
    "margin",
    "rate",
    "drain",
)


class Sweep:
    """One sweep, in pieces: each is a transaction of its own, so that calls waiting for the book
    come in between. A fleet of two hundred shards may be short of twenty thousand things.
    """

    def __init__(self) -> None:
        #: Shards and fingerprints, the most urgent first; None: it has not begun.
        self._all: list[tuple[str, str]] | None = None
        self._place = 0
        #: Rows that were changed so far.
        self._rows = 0
        self._blocked: Counter[str] = Counter()
        self._scene: Scene | None = None

    def piece(self, book: Book, draft: Draft, most: int = PIECE) -> bool:
        """Looks at so many shortfalls; True: these were the last."""
        if self._all is None:
            scene = _begun(book, draft)
            self._all = _by_urgency(scene)
        else:
            scene = Scene(book, draft, self._scene)
        off = layers.why_not_rebalancing(book, draft)
        self._scene, known = scene, len(scene.ranked)
        for shard, fingerprint in self._all[self._place : self._place + most]:
            self._place += 1
            # As the shard tells it now: it may have synced since the sweep began.
            memory = book.shards.get(shard)
            row = memory.shortages.by_fingerprint.get(fingerprint) if memory is not None else None
            if memory is not None and row is not None:
                memory.swept[fingerprint] = self._swept(scene, shard, row, off)
                memory.swept_at = scene.at
            if most == PIECE and len(scene.ranked) - known >= SHAPES:
                break
        self._rows += draft.size
        if self._place < len(self._all):
            return False
        for layer in LAYERS:
            book.counts.set("rebalance_blocked", self._blocked[layer], layer=layer)
        return True

    def _swept(self, scene: Scene, shard: str, row: Shortage, off: Reason | None) -> Reason:
        """What people are told of it until the next sweep."""
        made = off or self._help(scene, shard, row)
        if isinstance(made, TransferRow):
            return layers.is_open(made.transfer.id)
        self._blocked[layers.layer_of(made)] += 1
        return made

    def _help(self, scene: Scene, shard: str, row: Shortage) -> TransferRow | Reason:
        """Opens a transfer for it, or says what speaks against it."""
        fingerprint = row.shortfall.fingerprint
        reason = (
            layers.why_not_receiving(scene, shard)
            or row.against
            or layers.why_not_alone(scene, shard, fingerprint)
            or layers.why_not_rested(scene, shard, fingerprint)
            or layers.why_not_progressing(scene, shard, fingerprint)
        )
        if reason is not None:
            return reason
        if self._rows + scene.draft.size >= MOST_ROWS:
            return Reason("rebalance.sweep", {"rows": MOST_ROWS})
        stalls = layers.stalls_of(scene, shard, row.shortfall)
        if stalls >= scene.rules.stall_limit:
            return _stop(scene, shard, row.shortfall, stalls)
        return open_transfer(scene, TransferRequest(shard, row.shortfall, stalls))


def sweep(book: Book, draft: Draft) -> None:
    """All of it in one transaction."""
    Sweep().piece(book, draft, sys.maxsize)


def _begun(book: Book, draft: Draft) -> Scene:
    """After everything that is not about shortfalls."""
    book.swept_at = draft.at
    if draft.numbers.merging:
        abandon_open(draft, "the store was restored", MOST_ROWS)
    else:
        settle(book, draft)
        prune(book, draft, draft.size + MOST_PRUNED)
    scene = Scene(book, draft)
    note_idle(scene)
    if layers.why_not_rebalancing(book, draft) is None:
        open_returns(scene, MOST_ROWS)
    return scene


def _by_urgency(scene: Scene) -> list[tuple[str, str]]:
    """Shards come by name, and of each what it is short of: only numbers are left to be sorted."""
    alike: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for shard in scene.shards:
        for fingerprint, row in layers.shortages(scene, shard.id).by_fingerprint.items():
            urgency = (-row.shortfall.priority, -row.shortfall.age_cycles)
            alike[urgency].append((shard.id, fingerprint))
    return [pair for urgency in sorted(alike) for pair in alike[urgency]]


def _stop(scene: Scene, shard: str, shortfall: ShortfallDetail, stalls: int) -> Reason:
    """Machines keep coming and it stays as short as it was: a person must look."""
    rest = scene.rules.stall_rest
    short = resources_text(shortfall.deficit.positive().texts())
    text = (
        f"{stalls} transfers to {shard} in a row left it as short as it was, of {short} at "
        f"priority {shortfall.priority}: nothing is moved for it for {duration_text(rest)}; see "
        f"why {shard} does not use what it gets ({shortfall.fingerprint})"
    )
    scope = stop_scope(shard, shortfall.fingerprint)
    until = scene.at + nanoseconds(rest)
    row = CooldownRow(scope, until=until, count=stalls, shard=shard, reason=text)
    scene.draft.cooldowns.put(row)
    scene.draft.note("alert", shard, text)
    return layers.is_stopped(scene, row)


# -- what is overdue -----------------------------------------------------------------------------


def settle(book: Book, draft: Draft) -> None:
    """Grants what has been released, and ends or passes on what took too long.

    Once a second: what waits for its receiver does not wait for a sweep as well.
    """
    if draft.numbers.merging:
        return
    for row in [each for each in draft.transfers.values() if each.transfer.state.open]:
        if draft.size >= MOST_ROWS:
            return
        if end_without(draft, row):
            continue
        if row.released:
            grant_if_possible(book, draft, row)
            row = draft.transfers.get(row.transfer.id) or row
        if row.due is not None and row.due <= draft.at:
            _overdue(book, draft, row)


def _overdue(book: Book, draft: Draft, row: TransferRow) -> None:
    """Safe in every state before the grant: see endings."""
    moved = row.transfer
    match moved.state:
        case TransferState.OFFERED:
            pass_on(Scene(book, draft), row, "did not answer in time", "expired")
        case TransferState.DRAINING:
            why = f"{moved.from_shard} has not drained in time"
            endings.cancelled(book, draft, row, why, "expired")
        case TransferState.RELEASING:
            silent = moved.to_shard if row.released else moved.from_shard
            why = f"{silent} was silent for too long"
            endings.cancelled(book, draft, row, why, "expired")
