"""The eight checks as a pure function: FAILED_PRECONDITION exactly for stale tokens, and so on."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    Mutation,
    Token,
)
from bigfleet.provider.ledger.decisions import (
    Accepted,
    Refusal,
    Refused,
    Repeated,
    Sizes,
    Verdict,
    decided,
    why_malformed,
)
from bigfleet.provider.ledger.entries import Entry, Standing, seeded
from bigfleet.provider.ledger.fences import Mark
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.testing import slots

SLOT = seeded(slots(1)[0], "fake", 0)
STATES = [state for state in MachineState if state is not MachineState.UNSPECIFIED]
SMALL = st.integers(0, 3)


@st.composite
def entries(draw: st.DrawFn) -> Entry | None:
    state = draw(st.sampled_from([None, *STATES]))
    if state is None:
        return None
    kinds = draw(st.sets(st.sampled_from(Kind)))
    standing = Standing(operations={kind.value: f"old-{kind}" for kind in kinds})
    cluster = draw(st.sampled_from(["shop", "other"]))
    record = replace(SLOT.record, state=state, cluster=cluster)
    return replace(SLOT, record=record, standing=standing)


def call_of(kind: Kind, token: Token) -> Mutation:
    calls: dict[Kind, Mutation] = {
        Kind.CREATE: CreateCall("m-0", token),
        Kind.CONFIGURE: ConfigureCall("m-0", "shop", token=token),
        Kind.DRAIN: DrainCall("m-0", 0, token),
        Kind.DELETE: DeleteCall("m-0", token),
    }
    return calls[kind]


def verdict_of(kind: Kind, token: Token, entry: Entry | None, mark: Mark | None) -> Verdict:
    return decided(
        kind,
        call_of(kind, token),
        entry=entry,
        mark=mark,
        why_not_admitted=lambda _: None,
        operation_id=lambda: "new",
    )


@given(
    st.sampled_from(Kind),
    st.tuples(SMALL, SMALL),
    entries(),
    st.none() | st.builds(Mark, SMALL, SMALL),
)
def test_each_verdict_has_its_one_cause(
    kind: Kind, pair: tuple[int, int], entry: Entry | None, mark: Mark | None
) -> None:
    verdict = verdict_of(kind, Token("a", *pair), entry, mark)
    stale = mark is not None and pair <= mark
    code = verdict.refusal.code if isinstance(verdict, Refused) else Code.OK
    assert (code is Code.FAILED_PRECONDITION) == stale
    assert verdict.mark == (None if stale else Mark(*pair))
    if stale:
        return
    assert (code is Code.NOT_FOUND) == (entry is None)
    if entry is None:
        return
    assert isinstance(verdict, Accepted) == (entry.state is kind.source)
    if isinstance(verdict, Repeated):
        assert entry.state in (kind.passing, kind.target)
        assert verdict.operation_id == f"old-{kind}"
    if isinstance(verdict, Accepted):
        assert verdict.entry.state is kind.passing
        assert verdict.entry.standing.operations[kind] == "new"


@given(st.sampled_from(Kind), entries())
def test_an_absent_token_makes_no_mark(kind: Kind, entry: Entry | None) -> None:
    assert verdict_of(kind, Token(), entry, Mark(9, 9)).mark is None


def test_admission_is_asked_last_and_leaves_the_machine_alone() -> None:
    refusal = Refusal(Code.RESOURCE_EXHAUSTED, "none", "stockout")
    asked: list[Entry] = []

    def why_not(entry: Entry) -> Refusal:
        asked.append(entry)
        return refusal

    for state in STATES:
        entry = replace(SLOT, record=replace(SLOT.record, state=state))
        verdict = decided(
            Kind.CREATE,
            CreateCall("m-0", Token("a", 1, 1)),
            entry=entry,
            mark=None,
            why_not_admitted=why_not,
            operation_id=lambda: "new",
        )
        assert isinstance(verdict, Refused)
    assert [entry.state for entry in asked] == [MachineState.SPECULATIVE]


def test_what_weighs_too_much_is_refused_whole() -> None:
    sizes = Sizes(metadata_bytes=10, metadata_keys=2, blob_bytes=5)

    def why(blob: bytes = b"", **metadata: str) -> Refusal | None:
        return why_malformed(ConfigureCall("m", "c", blob, shard_metadata=metadata), sizes)

    assert why(b"12345", a="123", b="12345") is None
    for refusal in (why(b"123456"), why(a="1", b="1", c="1"), why(a="\u00e9" * 5)):
        assert refusal is not None
        assert refusal.code is Code.INVALID_ARGUMENT
