"""Delta debugging: the shortest list of steps, within a budget, that still makes a row fail."""

from collections.abc import Awaitable, Callable, Sequence

Fails = Callable[[tuple[int, ...]], Awaitable[bool]]


async def shortest(fails: Fails, total: int, time_left: Callable[[], bool]) -> tuple[int, ...]:
    """Drops ever smaller parts as long as the rest still fails."""
    steps: tuple[int, ...] = tuple(range(total))
    parts = 2
    while len(steps) > 1 and time_left():
        shorter = await _without_a_part(fails, steps, parts, time_left)
        if shorter is not None:
            steps, parts = shorter, max(parts - 1, 2)
        elif parts >= len(steps):
            break
        else:
            parts = min(parts * 2, len(steps))
    return steps


async def _without_a_part(
    fails: Fails, steps: Sequence[int], parts: int, time_left: Callable[[], bool]
) -> tuple[int, ...] | None:
    size = -(-len(steps) // parts)
    for start in range(0, len(steps), size):
        rest = (*steps[:start], *steps[start + size :])
        if not time_left():
            return None
        if rest and await fails(rest):
            return rest
    return None
