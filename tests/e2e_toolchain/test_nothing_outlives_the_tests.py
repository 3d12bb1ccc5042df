"""A process of the rig ends with its test, and with the tests themselves when they are killed."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.architecture.tree import ROOT
from tests.e2e.rig.processes import Family
from tests.shard_system.waiting import until

#: Runs until it is ended, in every case.
ENDLESS = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.e2e.rig.processes import Family
member = Family(Path(sys.argv[1])).start("endless", sys.argv[2:])
print(member.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def is_gone(pid: int) -> bool:
    """Its exit code may not have been read yet."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


async def test_it_ends_when_the_tests_are_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path), *ENDLESS]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    await until(lambda: is_gone(int(done.stdout)), lambda: done.stdout)


async def test_it_ends_with_its_family_and_can_be_started_again(tmp_path: Path) -> None:
    family = Family(tmp_path)
    member = family.start("endless", ENDLESS)
    await until(lambda: {"text": "up"} in member.lines(), member.shown)
    first = member.pid
    family.kill()
    assert (member.runs, is_gone(first)) == (False, True)
    member.start()
    await until(lambda: {"text": "up"} in member.lines(), member.shown)
    assert member.stop() == -signal.SIGTERM
    assert (tmp_path / "endless.log").read_text() == "up\nup\n"


async def test_one_that_was_paused_still_ends(tmp_path: Path) -> None:
    family = Family(tmp_path)
    member = family.start("endless", ENDLESS)
    member.send(signal.SIGSTOP)
    assert member.stop() == -signal.SIGTERM
