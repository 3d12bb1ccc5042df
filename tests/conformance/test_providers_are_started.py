"""Commands of --exec and --exec-spec: placeholders, flags, and nothing coming up."""

import sys
from pathlib import Path

import pytest

from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.launchers import Boot, CannotBoot, Unreachable
from bigfleet.conformance.processes import (
    Command,
    ExecLauncher,
    TargetLauncher,
    command_of,
    commands_of,
)
from bigfleet.model.errors import BadInput
from tests.held_ports import held_port

REFERENCE = (sys.executable, "-m", "bigfleet.conformance.reference")


def test_a_plain_command_gets_the_flags_every_provider_knows() -> None:
    line = Command(("provider",)).line(Boot("core", seed_count=64), 7, faults=False)
    assert line == [
        "provider",
        "--addr=127.0.0.1:7",
        "--provider=certify",
        "--use-fake-backend",
        "--seed-count=64",
    ]


def test_lanes_add_their_own_flags() -> None:
    durable = Command(("p",)).line(Boot("durable", state=Path("/s")), 7, faults=False)
    fault = Command(("p",)).line(Boot("fault", transition_timeout=2.0, faults=True), 7, faults=True)
    assert durable[-1] == "--state=/s"
    assert fault[-2:] == ["--transition-timeout=2s", "--fault-selectors"]


def test_placeholders_say_where_things_go() -> None:
    command = command_of("run 'my provider' -l {host} -p {port} -n {seed_count} -s={state} {lane}")
    line = command.line(Boot("durable", 8, Path("/s")), 7, faults=False)
    assert line == "run|my provider|-l|127.0.0.1|-p|7|-n|8|-s=/s|durable".split("|")


def test_a_command_with_placeholders_gets_the_flags_of_its_lane_too() -> None:
    command = command_of("run --listen {addr}")
    fault = Boot("fault", 8, transition_timeout=2.0, faults=True, more=("--failed-hold=1s",))
    assert command.line(fault, 7, faults=True) == [
        *("run", "--listen", "127.0.0.1:7"),
        *("--transition-timeout=2s", "--fault-selectors", "--failed-hold=1s"),
    ]
    assert command.line(Boot("durable", 8, Path("/s")), 7, faults=False)[-1] == "--state=/s"


def test_what_a_placeholder_says_is_not_said_twice() -> None:
    boot = Boot("fault", 8, Path("/s"), transition_timeout=2.0, faults=True)
    command = command_of("run {addr} --db {state} --limit {transition_timeout}")
    assert command.line(boot, 7, faults=True)[1:] == [
        *("127.0.0.1:7", "--db", "/s", "--limit", "2s", "--fault-selectors")
    ]


def test_a_command_that_is_told_its_lane_knows_its_flags_itself() -> None:
    boot = Boot("fault", 8, transition_timeout=2.0, faults=True)
    line = command_of("start.sh {lane} {port}").line(boot, 7, faults=True)
    assert line == ["start.sh", "fault", "7"]


def test_a_spec_has_one_command_per_lane(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(
        "default: run --a\nfault:\n  command: [run, --b]\n  env: {K: 1}\n  folder: /tmp\n"
    )
    commands = commands_of(path)
    assert commands["default"].words == ("run", "--a")
    assert commands["fault"] == Command(("run", "--b"), {"K": "1"}, Path("/tmp"))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("[]", "mapping"), ("gold: run", "not a lane"), ("core: {env: {}}", "needs a command"),
     ("core: {command: a, cwd: b}", "unknown key cwd")],
)  # fmt: skip
def test_a_wrong_spec_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(content)
    with pytest.raises(BadInput, match=complaint):
        commands_of(path)


def launcher(tmp_path: Path, *words: str) -> ExecLauncher:
    return ExecLauncher({"default": Command(words)}, SystemClock(), tmp_path, boot_timeout=60.0)


async def test_a_process_that_exits_tells_its_last_words(tmp_path: Path) -> None:
    failing = launcher(tmp_path, sys.executable, "-c", "import sys; sys.exit('no credentials')")
    with pytest.raises(CannotBoot, match="no credentials"):
        await failing.boot(Boot("core"))


async def test_a_command_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(CannotBoot, match="No such file"):
        await launcher(tmp_path, str(tmp_path / "absent")).boot(Boot("core"))


@pytest.mark.parametrize(
    "flags", [(), ("--addr={addr}", "--seed-count={seed_count}")], ids=["plain", "placeholders"]
)
async def test_a_provider_that_refuses_fault_flags_is_started_without(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    picky = (
        "import sys, runpy\n"
        "if '--fault-selectors' in sys.argv: sys.exit('unknown flag')\n"
        "runpy.run_module('bigfleet.conformance.reference', run_name='__main__')"
    )
    picky_launcher = launcher(tmp_path, sys.executable, "-c", picky, *flags)
    running = await picky_launcher.boot(Boot("fault", 2, transition_timeout=2.0, faults=True))
    assert not running.takes_faults
    await picky_launcher.close()


async def test_a_killed_provider_comes_back_with_what_it_knew(tmp_path: Path) -> None:
    home = launcher(tmp_path, *REFERENCE)
    boot = Boot("durable", 3, tmp_path / "fleet.state")
    first = await home.boot(boot)
    async with home.connect(first) as client:
        before, _ = await client.list()
    await first.kill()
    second = await home.boot(boot)
    async with home.connect(second) as client:
        after, _ = await client.list()
    await second.terminate()
    assert await second.exit_code(60.0) == 0
    assert (first.address != second.address, before) == (True, after)
    await home.close()


async def test_a_target_that_does_not_listen_is_unreachable() -> None:
    with held_port() as port, pytest.raises(Unreachable):
        await TargetLauncher(f"127.0.0.1:{port}", SystemClock()).boot(Boot("core"))
