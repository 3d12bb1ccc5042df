"""Delta debugging finds a short list of steps that still fails."""

from bigfleet.conformance.runner import shortest


async def test_the_two_steps_that_matter_are_found_among_two_hundred() -> None:
    async def fails(steps: tuple[int, ...]) -> bool:
        return {17, 140} <= set(steps)

    assert await shortest(fails, 200, lambda: True) == (17, 140)


async def test_a_single_step_is_enough_where_it_is() -> None:
    async def fails(steps: tuple[int, ...]) -> bool:
        return 8 in steps

    assert await shortest(fails, 45, lambda: True) == (8,)


async def test_without_time_the_whole_list_stays() -> None:
    async def fails(steps: tuple[int, ...]) -> bool:
        return True

    assert await shortest(fails, 5, lambda: False) == (0, 1, 2, 3, 4)
