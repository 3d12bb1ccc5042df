"""The contract as one page of tables, from the suite's own rows: docs/provider-contract.md."""

from collections.abc import Iterable

from bigfleet.conformance.catalogue import ROWS
from bigfleet.conformance.contract import (
    CHECKS,
    EMPTY_ID,
    PLACES,
    RPCS,
    STALE_TOKEN,
    UNKNOWN_ID,
    answer_of,
)

_HEAD = """\
# The provider contract in tables

For authors of providers in any language. This page is generated from the rows of
`bigfleet conformance` (`python -m bigfleet.conformance.contract_page`); the ids in brackets are the
rows that judge a cell, and a cell without one is said by the contract and not judged by a row of
its own. The `.proto` files for your language come from `bigfleet provider protos --help`; how to
write a provider in Python is in the [provider guide](provider-guide.md).
"""
_ORDER = """
## The order of checks in a mutation

The first check that objects answers. Checks 3 to 8 are atomic per machine: two calls at once on one
machine are judged one after the other. With mTLS, the identity of the caller is compared with
`shard_id` before all of them (PERMISSION_DENIED).
"""
_ANSWERS = """
## Answers by state

*Rejected* is any code but OK, FAILED_PRECONDITION, NOT_FOUND, INVALID_ARGUMENT and UNIMPLEMENTED;
ABORTED and INTERNAL are usual. The machine stays as it was. A Configure for another cluster than
the machine is bound to is always rejected. A provider without Delete answers UNIMPLEMENTED to every
Delete.
"""
_READS = """
`Get` and `List` are never fenced. `List` answers OK for any cursor: one that is malformed or
foreign gives the full list.
"""


def page() -> str:
    parts = [_HEAD, _ORDER, "\n", *_checks(), _ANSWERS, "\n", *_answers(), _READS]
    return "".join(parts)


def _checks() -> Iterable[str]:
    yield "| # | check | asks | answers | and then | rows |\n|---|---|---|---|---|---|\n"
    for number, rule in enumerate(CHECKS, 1):
        rows = _names(row.id for row in ROWS if rule.check in row.order)
        cells = (str(number), rule.check, rule.asks, rule.code, rule.afterwards, rows or "-")
        yield f"| {' | '.join(cells)} |\n"


def _answers() -> Iterable[str]:
    yield f"| a machine that is | {' | '.join(RPCS)} |\n|{'---|' * (len(RPCS) + 1)}\n"
    for place in PLACES:
        cells = [_cell(rpc, place) for rpc in RPCS]
        yield f"| {_PLACE_NAMES.get(place, place)} | {' | '.join(cells)} |\n"


_PLACE_NAMES = {
    UNKNOWN_ID: "unknown",
    EMPTY_ID: "not named (empty id)",
    STALE_TOKEN: "fenced for this token, in any state",
}


def _cell(rpc: str, place: str) -> str:
    answer = answer_of(rpc, place)
    if answer is None:
        return "OK: reads have no token"
    rows = _names(
        row.id for row in ROWS if any((c.rpc, c.place) == (rpc, place) for c in row.judges)
    )
    return f"{answer} [{rows}]" if rows else str(answer)


def _names(ids: Iterable[str]) -> str:
    return ", ".join(ids)


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
