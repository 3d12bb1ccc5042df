"""`bigfleet context`: fleets by name, for every shell; `up` never changes what people chose."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.contexts import (
    Contexts,
    FleetContext,
    change_contexts,
    read_contexts,
    with_up,
    without_up,
)
from bigfleet.cli.main import cli
from tests.cli.coordinator_commands.rig import NOWHERE, by_default, living_fleet
from tests.cli.shard_commands.rig import run as run_beside

GONE = 2**22 + 1


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "bigfleet" / "contexts.json"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def ok(*words: str) -> str:
    result = run(*words)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def of_up(address: str, pid: int) -> FleetContext:
    return FleetContext("", (address,), up_pid=pid)


def test_a_context_is_set_used_listed_and_removed(file: Path) -> None:
    assert ok("context") == "No context is used: verbs ask the default addresses.\n"
    said = ok("context", "set", "prod", "--coordinator", "coord-1:7790,coord-2:7790")
    assert said == "context prod is set; to use it: bigfleet context use prod\n"
    assert ok("context", "use", "prod") == "verbs use context prod\n"
    shown = json.loads(ok("context", "show", "-o", "json"))
    assert (shown["name"], shown["used"], shown["chosen"]) == ("prod", True, True)
    assert shown["coordinator"] == ["coord-1:7790", "coord-2:7790"]
    assert "context      prod (used: chosen)" in ok("context")
    [item] = json.loads(ok("context", "list", "-o", "json"))["items"]
    assert item["name"] == "prod"
    assert ok("context", "list").splitlines()[1].split() == [
        *("*", "prod", "coord-1:7790,coord-2:7790", "-", "you")
    ]
    assert ok("context", "remove", "prod") == "context prod is removed\n"
    assert read_contexts(file) == Contexts()


def test_the_file_is_only_for_its_owner_and_holds_no_half(file: Path) -> None:
    ok("context", "set", "prod", "--coordinator", "coord-1:7790")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o644)
    ok("context", "use", "prod")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir() if "new" in each.name] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("use", "prodd"), "no context is named prodd; did you mean prod?"),
        (("remove", "x"), "no context is named x; there are: prod"),
        (("set", "a b", "--coordinator", "h:1"), "'a b' is not a name"),
        (("set", "prod", "--coordinator", "coord"), "--coordinator coord: write HOST:PORT"),
        (("set", "prod"), "say what it is"),
        (("use",), "name a context, or give --none"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_what_cannot_be_is_told_with_what_would(
    file: Path, words: tuple[str, ...], said: str
) -> None:
    ok("context", "set", "prod", "--coordinator", "coord-1:7790")
    before = file.read_text()
    result = run("context", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert file.read_text() == before


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"contexts": {"a": {"coordinator": "h:1"}}}', "[" * 100_000]
)
def test_a_file_that_cannot_be_used_is_named_and_kept(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(content)
    for words in (("context",), ("context", "set", "a", "--coordinator", "h:1"), ("status",)):
        result = run(*words)
        assert result.exit_code == 2
        assert f"{file}: is not a context file" in result.stderr
    assert file.read_text() == content
    # A user who names an address needs no context.
    assert run("status", "--coordinator", NOWHERE, "--timeout", "1s").exit_code == 3


async def test_flag_variable_file_context_and_default_in_this_order(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def origin(*words: str) -> str:
        said = json.loads(ok("status", "--print-config", "-o", "json", *words))["cli.coordinator"]
        return str(said["origin"])

    assert origin() == "default"
    ok("context", "set", "prod", "--coordinator", "prod:1", "--use")
    ok("context", "set", "test", "--coordinator", "test:1")
    assert origin() == "context prod"
    assert origin("--context", "test") == "context test"
    monkeypatch.setenv("BIGFLEET_CLI_CONTEXT", "test")
    assert origin() == "context test"
    monkeypatch.delenv("BIGFLEET_CLI_CONTEXT")
    config = tmp_path / "c.yaml"
    config.write_text("cli:\n  coordinator: [file:1]\n")
    assert origin("--config", str(config)) == f"file {config}"
    monkeypatch.setenv("BIGFLEET_CLI_COORDINATOR", "variable:1")
    assert origin("--config", str(config)) == "environment BIGFLEET_CLI_COORDINATOR"
    assert origin("--coordinator", "flag:1") == "flag --coordinator"


async def test_a_verb_asks_the_fleet_of_its_context(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_default(monkeypatch, coordinator=NOWHERE, shard=NOWHERE)
    async with living_fleet(tmp_path, "shard-0") as fleet:
        ok("context", "set", "prod", "--coordinator", fleet.rig.address, "--use")
        shown = await run_beside("status")
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert "leads in term" in shown.stdout
        # A shard that is named by its address may belong to any fleet.
        alone = await run_beside("status", "--shard", fleet.shards["shard-0"].address)
        assert alone.stdout.startswith("shard-0 is ready")


def test_a_fleet_that_has_gone_is_told_as_such(file: Path) -> None:
    change_contexts(file, lambda known: with_up(known, of_up(NOWHERE, GONE))[0])
    result = run("status", "--timeout", "2s")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"the fleet of context up no longer answers at {NOWHERE}: ")
    assert "bigfleet context remove up" in result.stderr
    assert "which is gone" in ok("context")


def test_a_chosen_context_that_is_gone_is_not_replaced_by_another(file: Path) -> None:
    file.parent.mkdir(parents=True)
    up = {"up": {"coordinator": [NOWHERE], "upPid": os.getpid()}}
    file.write_text(json.dumps({"chosen": "prod", "contexts": up}))
    result = run("status")
    assert result.exit_code == 2
    assert "no context is named prod; there are: up" in result.stderr


def test_the_fleet_of_up_is_used_only_where_nothing_is_chosen() -> None:
    mine = FleetContext("prod", ("prod:1",))
    contexts, name = with_up(Contexts({"prod": mine}), of_up("up:1", os.getpid()))
    assert name == "up"
    in_force = contexts.in_force()
    assert in_force is not None
    assert in_force.name == "up"
    chosen, _ = with_up(Contexts({"prod": mine}, "prod"), of_up("up:1", os.getpid()))
    assert chosen.in_force() == mine


def test_up_takes_the_name_of_no_person_and_of_no_living_fleet() -> None:
    mine = FleetContext("up", ("mine:1",))
    contexts, name = with_up(Contexts({"up": mine}), of_up("up:1", os.getpid()))
    assert name == "up-2"
    assert contexts.by_name["up"] == mine
    contexts, name = with_up(contexts, of_up("up:2", os.getpid()))
    assert name == "up-3"
    # One whose address is ours now is gone, even if its process id is in use again.
    _, name = with_up(contexts, of_up("up:1", os.getpid()))
    assert name == "up-2"
    gone = Contexts({"up": FleetContext("up", ("up:9",), up_pid=GONE)})
    assert with_up(gone, of_up("up:1", os.getpid()))[1] == "up"


def test_up_takes_away_what_is_its_own_and_nothing_else() -> None:
    contexts, name = with_up(Contexts(), of_up("up:1", 77))
    assert without_up(contexts, name, 78) == contexts
    assert without_up(contexts, name, 77).by_name == {}


def test_what_a_person_sets_is_no_longer_of_up(file: Path) -> None:
    change_contexts(file, lambda known: with_up(known, of_up(NOWHERE, os.getpid()))[0])
    ok("context", "set", "up", "--coordinator", "mine:1")
    left = change_contexts(file, lambda known: without_up(known, "up", os.getpid()))
    assert left.by_name["up"].coordinator == ("mine:1",)


_WRITER = """
import sys
from pathlib import Path
from bigfleet.cli.contexts import FleetContext, change_contexts
path, name = Path(sys.argv[1]), sys.argv[2]
for number in range(20):
    fresh = FleetContext(f"{name}-{number}", ("h:1",))
    change_contexts(path, lambda known: known.with_context(fresh))
"""


def test_two_processes_that_write_lose_nothing(file: Path) -> None:
    words = [sys.executable, "-c", _WRITER, str(file)]
    writers = [subprocess.Popen([*words, name]) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(read_contexts(file).by_name) == 40


def test_certificates_for_people_go_into_a_context(file: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "certs")
    ok("certs", "ca", "--dir", folder)
    ok("context", "set", "dev", "--coordinator", "coord:7790")
    said = ok("certs", "issue", "--role", "readonly", "--dir", folder, "--context", "dev")
    assert said.endswith("It is in context dev: bigfleet context show dev\n")
    known = read_contexts(file).by_name["dev"]
    assert known.coordinator == ("coord:7790",)
    assert Path(known.cert).read_text().startswith("-----BEGIN CERTIFICATE")
    assert all(Path(path).is_absolute() for path in (known.cert, known.key, known.ca))
    printed = json.loads(ok("status", "--print-config", "-o", "json", "--context", "dev"))
    assert printed["tls.cert"] == {**printed["tls.cert"], "origin": "context dev"}
    result = run(
        "certs", "issue", "--role", "shard", "--id", "s", "--dir", folder, "--context", "x"
    )
    assert result.exit_code == 2
    assert "--context is for people" in result.stderr


def test_a_daemon_takes_nothing_from_a_context(file: Path) -> None:
    ok("context", "set", "dev", "--coordinator", "coord:7790", "--use")
    printed = json.loads(ok("shard", "--print-config", "-o", "json"))
    assert not any("context" in str(each["origin"]) for each in printed.values())
