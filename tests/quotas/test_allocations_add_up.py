"""For any demand and any silent shards: allocations add up to the total at most."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.coordination import QuotaUsage
from bigfleet.model.options import SECOND
from tests.quotas.test_slots_are_shared_out import PAIR, QuotaRig

SHARDS = ("a", "b", "c")


@dataclass
class Shard:
    """What it was told last, and what it uses of it."""

    has: int = 0
    in_use: int = 0


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["sync", "lost", "use", "free", "tick", "move", "raise", "wait"]),
        st.sampled_from(SHARDS),
        st.sampled_from(SHARDS),
        st.integers(0, 30),
        st.integers(0, 3),
    ),
    max_size=60,
)


@given(STEPS, st.integers(0, 60))
def test_allocations_never_exceed_a_total_that_was_never_lowered(
    steps: list[tuple[str, str, str, int, int]], total: int
) -> None:
    office, shards = QuotaRig(SHARDS), {name: Shard() for name in SHARDS}
    office.limit(total)
    for step, name, other, amount, priority in steps:
        shard = shards[name]
        match step:
            case "sync" | "lost":
                usage = QuotaUsage(*PAIR, shard.has, shard.in_use, amount, priority)
                (grant,) = office.tell(name, usage)
                if step == "sync":
                    shard.has = grant.allocated
            case "use":
                shard.in_use = max(shard.in_use, min(shard.has, shard.in_use + amount))
            case "free":
                shard.in_use = max(0, shard.in_use - amount)
            case "tick":
                office.tick()
            case "move" if name != other:
                # As many as it can still release: what it has and does not use.
                slots = min(amount, max(0, shard.has - shard.in_use))
                shard.has -= slots
                count = min(slots, office.shares().get(name, 0))
                office.move(name, other, count)
            case "raise":
                total += amount
                office.limit(total)
            case "wait":
                office.at += amount * 30 * SECOND
        assert sum(office.shares().values()) <= total
        assert sum(each.in_use for each in shards.values()) <= total
