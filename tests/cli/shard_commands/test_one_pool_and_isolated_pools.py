"""`bigfleet reports isolated` of live shards: what is partial says so, and what cannot be asked."""

import json
from dataclasses import replace

import pytest

from bigfleet.model.isolated import IsolatedCall, IsolatedReport, Split
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.shard_admin import SHARD_ADMIN
from tests.cli.shard_commands.rig import run
from tests.wire import isolated_answer
from tests.wire.admin import ScriptedAdmin
from tests.wire.sessions import ScriptedShard, line_to


class Comparing(ScriptedAdmin):
    def __init__(self, report: IsolatedReport | Rejected) -> None:
        super().__init__()
        self._report = report

    async def isolated(self, call: IsolatedCall) -> IsolatedReport:
        self.asked.append(("isolated", call))
        if isinstance(self._report, Rejected):
            raise self._report
        return self._report


async def answer(report: IsolatedReport | Rejected, *words: str) -> tuple[int, str, str, object]:
    people = Comparing(report)
    services = [RpcService(SHARD_ADMIN, people)]
    async with line_to(ScriptedShard(), extra_services=services) as line:
        result = await run("reports", "isolated", *words, "--shard", line.client.address)
    asked = people.asked[-1][1] if people.asked else None
    return result.exit_code, result.stdout, result.stderr, asked


WHOLE = replace(isolated_answer.REPORT, gaps=(), cut_short="")


async def test_a_live_shard_is_asked_for_what_was_said() -> None:
    words = ("--split", "mean", "--headroom", "0.25", "--from", "2026-03-14T03:00:00Z")
    code, shown, _, asked = await answer(WHOLE, *words)
    assert code == 0
    assert shown.startswith("One pool costs $1.00 less (40%): $1.50 instead of $2.50")
    assert asked == IsolatedCall(Split.MEAN, 0.25, since=1_773_457_200_000_000_000)


async def test_a_comparison_that_was_cut_short_is_partial_and_says_what_is_missing() -> None:
    code, shown, said, _ = await answer(isolated_answer.REPORT)
    assert code == 5
    assert "billed" in shown
    assert said.splitlines() == ["shard-0: cycles are missing", "shard-0: the time was up"]
    code, shown, _, _ = await answer(isolated_answer.REPORT, "-o", "json")
    assert code == 5
    (report,) = json.loads(shown)["reports"]
    assert report["report"]["cutShort"] == "the time was up"


async def test_a_shard_that_compares_for_someone_else_says_so() -> None:
    busy = Rejected(Code.RESOURCE_EXHAUSTED, "this shard compares pools for another caller")
    code, shown, said, _ = await answer(busy)
    assert (code, shown) == (4, "")
    assert "compares pools for another caller" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("--at", "7"), "--at: a live shard compares up to now", id="at"),
        pytest.param(("--from", "1:7"), "--from: each shard counts its own cycles", id="from"),
    ],
)
async def test_what_only_a_journal_has_is_refused(words: tuple[str, ...], said: str) -> None:
    code, shown, told, asked = await answer(WHOLE, *words)
    assert (code, shown, asked) == (2, "", None)
    assert said in told
