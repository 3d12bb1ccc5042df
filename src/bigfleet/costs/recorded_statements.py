"""Statements of a journal: its cycles and its notes in order, and what is missing in it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bigfleet.costs.invoices import InvoiceSums
from bigfleet.costs.statements import StatementBook
from bigfleet.journal.history import LATEST, History
from bigfleet.journal.segments import Segment, records_in_order
from bigfleet.model.journal import GAP, JournalEvent
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import ActionView
from bigfleet.model.statements import InvoiceCall, Invoices, Statement, StatementGap

#: That are kept one by one, the newest; the sums are of all.
MOST_STATEMENTS = 200_000


@dataclass(frozen=True, slots=True)
class RecordedInvoices:
    shard: str
    #: Of the first and the last cycle that were read.
    began_at: Instant
    ended_at: Instant
    #: `3:18231`, the last one.
    cycle: str
    invoices: Invoices


def invoices_of(
    segments: Sequence[Segment], call: InvoiceCall, at: tuple[int, int] = LATEST
) -> RecordedInvoices | None:
    """Up to a cycle (epoch and number); None: it is not recorded.

    Raises UnreadableJournal and BrokenJournal.
    """
    history, book, sums = History(), StatementBook(), InvoiceSums()
    kept = deque[Statement](maxlen=MOST_STATEMENTS)
    gaps = list[StatementGap]()
    #: A drain that ends at once may be told before the cycle that decided it.
    early = list[ActionView]()

    def end(ended: ActionView) -> None:
        made = book.end(epoch, ended)
        if made is not None and _is_asked(call, made):
            sums.add(made)
            kept.append(made)

    epoch, last, began, ended = 0, (0, 0), 0, 0
    for record in records_in_order(segments):
        body, ends = record.body, list[ActionView]()
        if isinstance(body, JournalEvent) and body.kind == GAP:
            gaps.append(StatementGap(record.at, body.text))
        for cycle in history.cycles((record,)):
            epoch = cycle.epoch
            if (epoch, cycle.given.cycle) > at:
                break
            actions = cycle.output.actions if cycle.output is not None else ()
            book.see(epoch, cycle.given, actions, partial(cycle.given.decide, workers=1))
            last, ended = (epoch, cycle.given.cycle), cycle.given.at
            began = began or ended
            ends, early = [*ends, *early], []
        if (epoch, record.cycle) > at:
            break
        if isinstance(body, ActionView):
            (ends if book.waits_for(body) else early).append(body)
        for each in ends:
            end(each)
    for each in early:
        end(each)
    if not began or (at != LATEST and last != at):
        return None
    statements = tuple(reversed(kept))
    oldest = statements[-1].completed_at if statements else 0
    told = statements[: call.limit] if call.limit > 0 else () if call.limit < 0 else statements
    name, shard = f"{last[0]}:{last[1]}", history.header.shard_id
    count = sum(part.count for part in sums.parts())
    invoices = Invoices(sums.parts(), told, count, gaps=tuple(gaps), kept_since=oldest)
    return RecordedInvoices(shard, began, ended, name, invoices)


def _is_asked(call: InvoiceCall, made: Statement) -> bool:
    return call.since <= made.completed_at and not 0 < call.until <= made.completed_at
