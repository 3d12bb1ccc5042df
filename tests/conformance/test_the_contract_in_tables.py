"""docs/provider-contract.md: made of the suite's rows, and true of the provider SDK."""

from pathlib import Path

import pytest

from bigfleet.conformance.catalogue import ROWS
from bigfleet.conformance.contract import MUTATIONS, PLACES, RPCS, ExpectedAnswer, answer_of
from bigfleet.conformance.contract_page import page
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import (
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    MachineRecord,
    Mutation,
    Token,
)
from bigfleet.provider.ledger.decisions import (
    Accepted,
    Refused,
    Repeated,
    Sizes,
    decided,
    why_malformed,
)
from bigfleet.provider.ledger.entries import Entry, Standing
from bigfleet.provider.ledger.fences import Mark
from bigfleet.provider.ledger.transitions import Kind

PAGE = Path(__file__).parents[2] / "docs" / "provider-contract.md"
TOKEN = Token("shard-a", 2, 5)


def test_the_page_is_what_the_rows_say() -> None:
    assert PAGE.read_text() == page(), (
        "write it anew: python -m bigfleet.conformance.contract_page > docs/provider-contract.md"
    )


def test_rows_judge_only_cells_that_exist() -> None:
    for row in ROWS:
        for cell in row.judges:
            assert (cell.rpc in RPCS, cell.place in PLACES) == (True, True), row.id
            assert cell.answer is answer_of(cell.rpc, cell.place), row.id


@pytest.mark.parametrize("rpc", MUTATIONS)
@pytest.mark.parametrize("place", PLACES)
def test_the_sdk_answers_as_the_table_says(rpc: str, place: str) -> None:
    assert answered(rpc, place) is answer_of(rpc, place)


def answered(rpc: str, place: str) -> ExpectedAnswer:
    kind = Kind(rpc.lower())
    call = called(kind, "" if place == "empty id" else "m")
    if why_malformed(call, Sizes()):
        return ExpectedAnswer.EMPTY
    verdict = decided(
        kind,
        call,
        entry=None if place == "unknown id" else entry_in(kind, place),
        mark=Mark(2, 5) if place == "stale token" else None,
        why_not_admitted=lambda _: None,
        operation_id=lambda: "op-2",
    )
    match verdict:
        case Accepted():
            return ExpectedAnswer.STARTS
        case Repeated(operation_id="op-1"):
            at_target = place == kind.target.name
            return ExpectedAnswer.AT_TARGET if at_target else ExpectedAnswer.REPEATS
        case Refused(refusal=refusal):
            words = {
                "NOT_FOUND": ExpectedAnswer.UNKNOWN
                if kind is Kind.DELETE
                else ExpectedAnswer.NOT_FOUND,
                "FAILED_PRECONDITION": ExpectedAnswer.STALE,
                "ABORTED": ExpectedAnswer.REJECTED,
            }
            return words[refusal.code.name]
    raise AssertionError(verdict)


def called(kind: Kind, machine: str) -> Mutation:
    match kind:
        case Kind.CREATE:
            return CreateCall(machine, TOKEN)
        case Kind.CONFIGURE:
            return ConfigureCall(machine, "shop", b"", TOKEN)
        case Kind.DRAIN:
            return DrainCall(machine, 0, TOKEN)
        case _:
            return DeleteCall(machine, TOKEN)


def entry_in(kind: Kind, place: str) -> Entry:
    """A machine there, with an operation of this kind on record."""
    state = MachineState[place] if place in MachineState.__members__ else kind.source
    record = MachineRecord(
        id="m",
        state=state,
        instance_type="std-8",
        zone="a",
        capacity_type=CapacityType.ON_DEMAND,
        cluster="shop",
    )
    return Entry(record, 0, standing=Standing(operations={kind: "op-1"}))
