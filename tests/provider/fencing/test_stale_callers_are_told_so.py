"""FAILED_PRECONDITION means a stale token, in the one place of the check order it has."""

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, Token
from tests.provider.rig import rejection, running


async def test_a_stale_token_comes_before_an_unknown_machine() -> None:
    async with running() as rig:
        assert (await rejection(rig.create("x", Token("a", 5, 5)))).code is Code.NOT_FOUND
        for call in (
            rig.create("x", Token("a", 1, 1)),
            rig.configure("x", token=Token("a", 1, 1)),
            rig.drain("x", token=Token("a", 5, 5)),
            rig.delete("x", token=Token("a", 5, 4)),
        ):
            assert (await rejection(call)).code is Code.FAILED_PRECONDITION
        assert (await rejection(rig.create("x", Token("a", 9, 9)))).code is Code.NOT_FOUND


async def test_a_token_that_passes_moves_the_mark_although_the_call_is_refused() -> None:
    async with running() as rig:
        refused = await rejection(rig.drain("m-0", token=Token("a", 5, 5)))
        assert (refused.code, refused.reason) == (Code.ABORTED, "out-of-position")
        stale = await rejection(rig.create("m-0", Token("a", 5, 4)))
        assert stale.code is Code.FAILED_PRECONDITION
        await rig.create("m-0", Token("a", 5, 6))


async def test_a_malformed_call_moves_no_mark() -> None:
    async with running() as rig:
        await rig.to_configured("m-0")
        refused = await rejection(rig.drain("m-0", -5, Token("a", 9, 9)))
        assert refused.code is Code.INVALID_ARGUMENT
        await rig.drain("m-0", 0, Token("a", 1, 1))


async def test_a_stale_repeat_is_fenced_before_it_is_recognised() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        first = await rig.configure("m-0", token=Token("a", 5, 5))
        stale = await rejection(rig.configure("m-0", token=Token("a", 1, 1)))
        assert stale.code is Code.FAILED_PRECONDITION
        again = await rig.configure("m-0", token=Token("a", 5, 6))
        assert again.operation_id == first.operation_id


async def test_reads_are_never_fenced() -> None:
    async with running() as rig:
        await rig.create("m-0", Token("a", 7, 7))
        await rejection(rig.create("m-0", Token("a", 1, 1)))
        assert await rig.state("m-0") is MachineState.IDLE


async def test_a_new_epoch_restarts_the_sequence_at_any_number() -> None:
    async with running() as rig:
        await rig.create("m-0", Token("a", 2, 6))
        await rig.configure("m-0", token=Token("a", 3, 0))
        stale = await rejection(rig.configure("m-0", token=Token("a", 2, 999)))
        assert stale.code is Code.FAILED_PRECONDITION
