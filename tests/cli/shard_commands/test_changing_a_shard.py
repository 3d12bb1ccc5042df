"""The verbs that change something: pauses, failed machines, quarantines, offerings."""

import getpass
import json
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf.json_format import ParseDict

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.cli.shard_verbs.failed_remedies import remedy_of
from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.shard_views import FailedView, MachineView
from bigfleet.shard.settings import RailSettings
from tests.cli.shard_commands.rig import (
    FIRST,
    SETTINGS,
    WHY,
    LiveShard,
    living_shard,
    need,
    run,
    steady,
)

PAUSED = """\
ID SCOPE SOURCE OWNER AGE EXPIRES REASON
PAUSE Reclaim and Delete of cluster shop rpc ada AGE until INSTANT a test"""


async def test_a_pause_is_set_shown_and_lifted(tmp_path: Path) -> None:
    async with living_shard(tmp_path, sim=False) as shard:
        scope = ("--cluster", "cluster/shop", "--kind", "reclaim", "--kind", "delete")
        made = await shard.shown("pause", *scope, "--ttl", "30m", *WHY)
        assert steady(made) == (
            "SHARD PAUSE SCOPE EXPIRES\n"
            "ADDRESS PAUSE Reclaim and Delete of cluster shop until INSTANT"
        )
        pause_id = made.split()[5]
        assert steady(await shard.shown("pause", "list")) == PAUSED
        assert await shard.shown("pause", "list", "-o", "name") == f"pause/{pause_id}\n"
        status = await shard.shown("status")
        assert "- Reclaim and Delete of cluster shop is paused by ada since " in status
        assert f"  next: to lift it: bigfleet resume {pause_id} --reason WHY\n" in status

        lifted = await shard.shown("resume", f"pause/{pause_id}", *WHY)
        assert lifted.split()[3:] == [shard.address, pause_id, "nothing"]
        assert await shard.shown("pause", "list") == "Nothing is paused.\n"
        headings = "ID,SCOPE,SOURCE,OWNER,AGE,EXPIRES,REASON\n"
        assert await shard.shown("pause", "list", "-o", "csv") == headings
        gone = await shard.document("pause", "list", "--expired")
        assert [item["pauseId"] for item in gone["items"]] == [pause_id]


async def test_a_pause_is_confirmed_in_json_by_every_shard(tmp_path: Path) -> None:
    async with living_shard(tmp_path, sim=False) as shard:
        made = await shard.document("pause", "--no-expiry", *WHY)
        answer = made["items"][0]
        assert answer.pop("shard") == shard.address
        ParseDict(answer, shared.PauseResponse())
        assert answer["pause"]["expiresUnixNanos"] == 0
        done = (await shard.document("resume", "--all", *WHY))["items"][0]
        done.pop("shard")
        assert len(ParseDict(done, shared.ResumeResponse()).removed) == 1


async def test_the_owner_of_a_change_is_the_user_who_is_logged_in(tmp_path: Path) -> None:
    async with living_shard(tmp_path, sim=False) as shard:
        await shard.shown("pause", "--reason", "who am I")
        listed = await shard.document("pause", "list")
        assert listed["items"][0]["audit"] == {"owner": getpass.getuser(), "reason": "who am I"}


async def test_where_only_some_shards_confirm_a_pause_the_check_fails(tmp_path: Path) -> None:
    async with living_shard(tmp_path, sim=False) as shard:
        half = await shard.run("pause", "--shard", "127.0.0.1:1", *WHY)
        assert half.exit_code == 1
        assert shard.address in half.stdout
        assert "127.0.0.1:1: no shard answers at 127.0.0.1:1" in half.stderr
        listed = await shard.run("pause", "--shard", "127.0.0.1:1", *WHY, "-o", "json")
        items = {item["shard"]: item for item in json.loads(listed.stdout)["items"]}
        assert items["127.0.0.1:1"]["error"]["code"] == "UNAVAILABLE"
        assert "pause" in items[shard.address]


async def test_a_pause_that_is_not_in_force_cannot_be_lifted(tmp_path: Path) -> None:
    async with living_shard(tmp_path, sim=False) as shard:
        missed = await shard.run("resume", "no-such", *WHY)
        assert missed.exit_code == 3
        assert "no pause no-such is in force" in missed.stderr


async def test_a_pause_of_the_flag_is_lifted_where_it_was_set(tmp_path: Path) -> None:
    flagged = replace(SETTINGS, rails=RailSettings(actuation_paused=True))
    async with living_shard(tmp_path, flagged, sim=False) as shard:
        refused = await shard.run("resume", "flag", *WHY)
        assert refused.exit_code == 4
        assert "restart the shard without it" in refused.stderr
        status = await shard.shown("status")
        assert "- everything is paused by flag since " in status
        assert "  next: restart the shard without --actuation-paused\n" in status


@pytest.mark.parametrize(
    "words",
    [
        ("pause",),
        ("resume", "--all"),
        ("resume", *WHY),
        ("resume", "p", "--all", *WHY),
        ("pause", "--ttl", "0", *WHY),
        ("pause", "--ttl", "1h", "--no-expiry", *WHY),
        ("pause", "--ttl", "30d", *WHY),
        ("pause", "--kind", "explode", *WHY),
        ("pause", "--cluster", "machine/m-1", *WHY),
        ("pause", "--reason", " "),
        ("machines", "clear", FIRST, "--mode", "recheck"),
        ("machines", "clear", FIRST, *WHY),
        ("quarantines", "release", "rollup", "shop", *WHY),
        ("quarantines", "release", "rollup", "shop", "--accept"),
        ("reports", "offerings", "--reset", "sim/std-2/b/OnDemand"),
        ("reports", "verifier", "--spend-ceiling", "9"),
        ("reports", "verifier", "--zone-fraction", "2", *WHY),
    ],
    ids=" ".join,
)
async def test_words_that_do_not_say_enough_or_too_much_change_nothing(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    async with living_shard(tmp_path, sim=False) as shard:
        refused = await shard.run(*words)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr
        assert shard.process.state.parts.pauses.active() == ()


async def test_a_failed_machine_is_shown_with_its_cause_and_helped_out(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        await shard.do("fail", FIRST, "disk")
        await shard.until(lambda: _state_of(shard, FIRST) is MachineState.FAILED)
        failed = await shard.shown("machines", "--failed")
        assert failed.splitlines()[0].split() == [
            *"ID STATE CLUSTER TYPE ZONE CAPACITY $/H SINCE PENDING SHARD".split(),
            *"CAUSE TRIES NEXT ERROR REMEDY".split(),
        ]
        assert "1 of 1 shown" in failed
        assert "provider_failed" in failed
        assert f"bigfleet provider failed repair {FIRST} --addr" in failed
        assert "disk" in failed
        helped = await shard.shown("machines", "clear", FIRST, "--mode", "recheck", *WHY)
        assert helped.startswith(f"machine/{FIRST}: ")
        cleared = await shard.document("machines", "clear", FIRST, "--mode", "retry", *WHY)
        assert cleared["text"]
        assert cleared["machine"]["machine"]["id"] == FIRST


async def test_the_remedy_of_a_machine_that_its_provider_calls_failed_brings_it_back(
    tmp_path: Path,
) -> None:
    async with living_shard(tmp_path) as shard:
        await shard.do("fail", FIRST, "disk")
        await shard.until(lambda: _state_of(shard, FIRST) is MachineState.FAILED)
        (item,) = (await shard.document("machines", "--failed"))["items"]
        remedy = item["remedy"].partition(": ")[2]
        assert remedy.startswith(f"bigfleet provider failed repair {FIRST} --addr 127.0.0.1:")
        table = " ".join((await shard.shown("machines", "--failed")).split())
        assert f"bigfleet provider failed repair {FIRST}" in table
        repaired = await run(*remedy.split()[1:])
        assert repaired.exit_code == 0, repaired.output
        await shard.until(lambda: _state_of(shard, FIRST) is MachineState.IDLE)
        assert "0 of 0 shown" in await shard.shown("machines", "--failed")


@pytest.mark.parametrize(
    ("cause", "automatic", "mode"),
    [
        ("fenced", False, "recheck"),
        ("timeout_creating", False, "retry"),
        ("configure_error", True, "recheck"),
    ],
    ids=["fenced", "stuck", "looked at again"],
)
def test_every_other_cause_names_the_way_to_clear_it(
    cause: str, automatic: bool, mode: str
) -> None:
    machine = Machine(FIRST, MachineState.FAILED, CapacityType.BARE_METAL)
    view = MachineView(machine, "sim", failed=FailedView(cause, 0, 5, None, automatic))
    remedy = remedy_of(view, {})
    assert remedy.endswith(f": bigfleet machines clear {FIRST} --reason WHY --mode {mode}")
    assert remedy_of(replace(view, failed=None), {}) == ""


async def test_a_machine_that_is_well_cannot_be_cleared(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        refused = await shard.run("machines", "clear", FIRST, "--mode", "forget", *WHY)
        assert refused.exit_code == 4
        assert f"{FIRST} is Idle" in refused.stderr


async def test_a_held_list_is_shown_and_released(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        await shard.do("list-empty", "1000000")
        await shard.until(lambda: shard.process.state.quarantines())
        held = steady(await shard.shown("quarantines"))
        columns = "KIND SUBJECT BASELINE OBSERVED HOLDS SINCE SHARD WHAT"
        assert held.startswith(f"{columns}\nlist sim 14 0 ")
        assert "14 of 14 machines are missing" in held
        status = await shard.shown("status")
        assert "- Lists of provider sim are held as suspicious since " in status
        assert "bigfleet quarantines release list sim --accept --reason WHY\n" in status
        wrong = await shard.run("quarantines", "release", "rollup", "sim", "--accept", *WHY)
        assert wrong.exit_code == 3
        words = ("quarantines", "release", "list", "sim", "--discard")
        released = await shard.document(*words, *WHY)
        assert released["quarantine"]["kind"] == "QUARANTINE_KIND_PROVIDER_LIST"
        assert released["text"]


async def test_an_offering_without_stock_is_shown_and_reset(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        await shard.do("stock", "type=std-2", "0")
        async with shard.operator("ml", need("ml", 1, kind="std-2")):
            offerings = shard.process.state.parts.offerings
            await shard.until(offerings.views)
            name = offerings.views()[0].name
            shown = await shard.shown("reports", "offerings")
            assert shown.split()[:8] == [
                *"OFFERING STATE KIND OPENINGS SINCE NEXT_PROBE SHARD SAID".split()
            ]
            assert f"{name}" in shown
            assert f"bigfleet reports offerings --reset {name} --reason WHY\n" in shown
            assert "- offering sim/std-2/" in await shard.shown("status")
            reset = ("reports", "offerings", "--reset", f"offering/{name}")
            assert "may be bought again" in await shard.shown(*reset, *WHY)
            unknown = await shard.run("reports", "offerings", "--reset", "sim/x/y/Spot", *WHY)
            assert unknown.exit_code == 3


async def test_the_policy_of_the_verifier_is_shown_set_and_given_back(tmp_path: Path) -> None:
    async with living_shard(tmp_path, sim=False) as shard:
        verb = ("reports", "verifier")
        assert "0 freeze windows, no spend ceiling" in await shard.shown(*verb)
        window = "0 22 * * fri for 60h cluster=shop"
        said = await shard.shown(*verb, "--freeze", window, "--spend-ceiling", "120.5", *WHY)
        assert "1 freeze window, $120.50/h at most, 0.5 of a zone a minute" in said
        (item,) = (await shard.document(*verb))["items"]
        assert item["policy"]["freezeWindows"] == [window]
        assert item["setBy"]["reason"] == WHY[1]
        for wrong, why in (("fridays", "is not a freeze window"), ("nan", "dollars per hour")):
            flag = "--spend-ceiling" if wrong == "nan" else "--freeze"
            refused = await shard.run(*verb, flag, wrong, *WHY)
            assert refused.exit_code == 2
            assert why in refused.stderr
        assert "0 freeze windows, $120.50/h" in await shard.shown(*verb, "--freeze", "none", *WHY)
        assert "no spend ceiling" in await shard.shown(*verb, "--from-settings", *WHY)
        logged = await shard.shown(*verb)
        assert "settings" in logged


def _state_of(shard: LiveShard, machine: str) -> MachineState:
    return shard.process.state.parts.machines.truth(machine).state
