"""Statements and their sums as messages, as documents and as rows of state."""

from google.protobuf.message import DecodeError

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.statements import (
    InvoiceCall,
    InvoicePart,
    Invoices,
    NextBest,
    Statement,
    StatementGap,
)
from bigfleet.wire.machine_views import NEED_KEY
from bigfleet.wire.record_codecs import Conversion, Field, RecordCodec

#: Of one answer: a few hundred bytes each.
MOST_STATEMENTS = 2000
_AMOUNT, _NUMBER = Conversion(read=float), Conversion(read=int)
INVOICE_PART = RecordCodec(InvoicePart, pb.InvoicePart)
STATEMENT_GAP = RecordCodec(StatementGap, pb.StatementGap)
STATEMENT = RecordCodec(
    Statement,
    pb.Statement,
    from_need=NEED_KEY,
    to_need=NEED_KEY,
    from_priority=_NUMBER,
    to_priority=_NUMBER,
    interruption_penalty=Field("interruption_penalty_dollars", _AMOUNT),
    reclamation_penalty=Field("reclamation_penalty_dollars", _AMOUNT),
    drain_seconds=_AMOUNT,
    price_per_hour=_AMOUNT,
    drain_value=Field("drain_value_dollars", _AMOUNT),
    grace_seconds="grace_period_seconds",
    next_best=RecordCodec(
        NextBest, pb.NextBest, extra_dollars=_AMOUNT, extra_dollars_per_hour=_AMOUNT
    ),
)
INVOICE_CALL = RecordCodec(InvoiceCall, pb.ListInvoicesRequest)
INVOICES = RecordCodec(
    Invoices,
    pb.ListInvoicesResponse,
    parts=INVOICE_PART,
    statements=STATEMENT,
    gaps=STATEMENT_GAP,
    team_of_cluster=Conversion(dict, lambda teams: tuple(sorted(teams.items()))),
)


def bytes_of(statement: Statement) -> bytes:
    """As a file keeps it."""
    return STATEMENT.message(statement).SerializeToString()


def statement_of(body: bytes) -> Statement:
    """Raises ValueError where the bytes are damaged."""
    try:
        message = pb.Statement.FromString(body)
    except DecodeError as problem:
        raise ValueError(f"it is not a statement: {problem}") from problem
    return STATEMENT.record(message)
