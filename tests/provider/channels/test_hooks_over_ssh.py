"""Ssh: the blob on standard input, a pinned host key, and what each exit means."""

import os
from pathlib import Path

import pytest

from bigfleet.provider import BackendError, HostGone, Permanent, Retryable, Ssh

#: Writes down what it was given, and ends as the file beside it says.
PROGRAM = """#!/bin/sh
here=$(dirname "$0")
for word in "$@"; do printf '%s\\n' "$word"; done > "$here/words"
for word in "$@"; do case "$word" in UserKnownHostsFile=*) cp "${word#*=}" "$here/keys";; esac; done
cat > "$here/blob"
echo "last words" >&2
exit "$(cat "$here/exit")"
"""


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    program = tmp_path / "ssh"
    program.write_text(PROGRAM)
    program.chmod(0o700)
    (tmp_path / "exit").write_text("0")
    return program


async def test_the_blob_is_delivered_and_stands_on_no_command_line(ssh: Path) -> None:
    channel = Ssh("10.0.0.7", host_key="ssh-ed25519 AAAA", program=(str(ssh),))
    await channel.run_hook(b"secret\0blob", token="op-1")
    words = (ssh.parent / "words").read_text().splitlines()
    assert (ssh.parent / "blob").read_bytes() == b"secret\0blob"
    assert words[-2:] == ["10.0.0.7", "/usr/local/lib/bigfleet/hook configure op-1"]
    assert "StrictHostKeyChecking=yes" in words
    assert not any("secret" in word for word in words)


async def test_only_the_pinned_key_counts(ssh: Path) -> None:
    await Ssh("h", "ssh-ed25519 AAAA", port=2222, program=(str(ssh),)).stop_node(30)
    assert (ssh.parent / "keys").read_text() == "[h]:2222 ssh-ed25519 AAAA\n"
    words = (ssh.parent / "words").read_text().splitlines()
    assert words[-1].endswith("hook drain 30")
    assert "GlobalKnownHostsFile=none" in words


async def test_without_a_key_the_named_file_decides(
    ssh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = ssh.parent / "known"
    known.write_text("h ssh-ed25519 BBBB\n")
    monkeypatch.setitem(os.environ, "BIGFLEET_SSH_KNOWN_HOSTS", str(known))
    await Ssh("h", program=(str(ssh),)).stop_node(0)
    assert (ssh.parent / "keys").read_text() == known.read_text()


@pytest.mark.parametrize(
    ("code", "raised"), [(75, Retryable), (69, HostGone), (255, Retryable), (1, Permanent)]
)
async def test_an_exit_says_what_the_server_does_next(
    ssh: Path, code: int, raised: type[BackendError]
) -> None:
    (ssh.parent / "exit").write_text(str(code))
    with pytest.raises(raised, match="last words"):
        await Ssh("h", "key", program=(str(ssh),)).run_hook(b"", token="op-1")
