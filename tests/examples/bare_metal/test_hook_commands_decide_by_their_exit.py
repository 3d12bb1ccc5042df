"""What the exit of a hook means, what it is told, and that it never outlives its time."""

import os
import shlex
from pathlib import Path

import pytest

from bigfleet.provider import HostGone, Permanent, Retryable
from bigfleet_bare_metal.commands import Commands
from bigfleet_bare_metal.racks import Hook, Hooks, Ssh
from tests.shard_system.waiting import until

UNUSED = Hook(("false",))


def commands(via_ssh: bool = False) -> Commands:
    ssh = Ssh(known_hosts="/keys") if via_ssh else None
    return Commands(
        Hooks(configure=UNUSED, drain=UNUSED, ready=UNUSED, via="ssh" if ssh else "local", ssh=ssh)
    )


def shell(script: str, timeout_seconds: float = 20.0) -> Hook:
    return Hook(("sh", "-c", script), timeout_seconds)


async def test_a_hook_is_told_its_operation_and_reads_the_blob() -> None:
    hook = shell('printf "%s " "$BIGFLEET_OPERATION"; cat')
    printed = await commands().on_host(hook, "h1", {"BIGFLEET_OPERATION": "op-1"}, b"secret")
    assert printed == "op-1 secret"


async def test_a_large_blob_reaches_the_hook_whole() -> None:
    assert (await commands().here(shell("wc -c"), {}, b"x" * 3_000_000)).strip() == "3000000"


async def test_a_hook_need_not_read_the_blob() -> None:
    assert await commands().here(shell("echo done"), {}, b"x" * 3_000_000) == "done\n"


@pytest.mark.parametrize(
    ("exit_code", "meaning"),
    [(75, Retryable), (69, HostGone), (1, Permanent), (255, Permanent)],
    ids=["not now", "host gone", "failed", "failed, as only ssh's own 255 is a lost connection"],
)
async def test_the_exit_of_a_hook_has_a_meaning(exit_code: int, meaning: type[Exception]) -> None:
    with pytest.raises(meaning, match="the disk is full"):
        await commands().here(
            shell(f"echo noise; echo 'the disk is full' >&2; exit {exit_code}"), {}
        )


async def test_a_command_that_is_not_there_fails_for_good() -> None:
    with pytest.raises(Permanent, match="no-such-command"):
        await commands().here(Hook(("no-such-command",)), {})


async def test_a_hook_past_its_time_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"sleep 600 & echo $! >{shlex.quote(str(pid))}; wait"
    with pytest.raises(Retryable, match=r"not done after 1\.5 s"):
        await commands().here(shell(script, timeout_seconds=1.5), {})
    # Killed it is at once; when it has ended the kernel says.
    started = int(pid.read_text())
    await until(lambda: not is_alive(started))


def is_alive(pid: int) -> bool:
    """A zombie that is not collected yet is not alive."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_a_daemon_that_keeps_the_output_open_is_not_waited_for() -> None:
    assert await commands().here(shell("echo done; sleep 5 &"), {}) == "done\n"


async def test_over_ssh_every_word_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ssh that runs the command here, as the shell of a host would."""
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\necho "$@" >&2\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    told = {"BIGFLEET_CLUSTER": "shop'; echo gotcha; '"}
    hook = shell('printf "%s" "$BIGFLEET_CLUSTER"')
    assert await commands(via_ssh=True).on_host(hook, "10.0.0.1", told) == "shop'; echo gotcha; '"


async def test_a_lost_ssh_connection_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'Connection refused' >&2\nexit 255\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(Retryable, match="Connection refused"):
        await commands(via_ssh=True).on_host(UNUSED, "10.0.0.1", {})


def test_ssh_talks_only_to_hosts_whose_key_is_pinned() -> None:
    words = Ssh(known_hosts="/keys").words("10.0.0.1")
    assert {"StrictHostKeyChecking=yes", "UserKnownHostsFile=/keys", "BatchMode=yes"} <= set(words)
