"""Questions of a pod controller, answered by a shard that runs: twelve machines of eight cores."""

from pathlib import Path

from bigfleet.podwatch.capacity_questions import Verdict
from bigfleet.podwatch.driving.shard_questions import ShardQuestions
from tests.cli.shard_commands.rig import living_shard, need


async def test_a_shard_says_what_fits_beside_what_is_asked_for_and_granted(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 4)):
        await shard.until_bound("shop", 4)
        questions = ShardQuestions(shard.address, "shop", None)
        fits = need("shop", 8, priority=-1)
        answer = await questions.would_be_covered([fits])
        assert answer.verdict is Verdict.YES, answer
        assert answer.text.startswith("cycle ")
        # Eight are left over, and one of them is granted to another request.
        beside = [need("shop", 1, priority=-2)]
        assert (await questions.would_be_covered([fits], beside)).verdict is Verdict.YES
        above = [need("shop", 1, priority=2)]
        answer = await questions.would_be_covered([fits], above)
        assert answer.verdict is Verdict.NO, answer
        # More of a Need that is there: the whole of it counts.
        assert (await questions.would_be_covered([need("shop", 8)])).verdict is Verdict.YES
        answer = await questions.would_be_covered([need("shop", 9)])
        assert answer.verdict is Verdict.NO, answer
        name, code, text = answer.text.split(": ", 2)
        assert name == f"need/shop/{need('shop', 9).key.need_id}"
        assert "." in code
        assert text
        # All podSets of a request together, or not at all.
        together = [need("shop", 4, priority=-1), need("shop", 5, priority=-3)]
        assert (await questions.would_be_covered(together)).verdict is Verdict.NO
        # A question changes nothing.
        assert len(shard.bound_to("shop")) == 4


async def test_a_shard_says_of_which_cycle_its_states_are(tmp_path: Path) -> None:
    there, missing = need("shop", 2), need("shop", 1, kind="gpu")
    async with living_shard(tmp_path) as shard, shard.operator("shop", there, missing):
        await shard.until_bound("shop", 2)
        questions = ShardQuestions(shard.address, "shop", None)
        answer = await questions.are_there([there.key])
        assert answer.verdict is Verdict.YES, answer
        assert answer.cycle
        answer = await questions.are_there([there.key, missing.key])
        assert answer.verdict is Verdict.NO, answer
        unheard = need("shop", 1, priority=77)
        assert (await questions.are_there([unheard.key])).verdict is Verdict.UNKNOWN
