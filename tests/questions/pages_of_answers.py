"""Pages whose commands ask a recorded journal, run in a folder of their own: the night, unless the
block names another one."""

import re
import shutil
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from bigfleet.cli.main import cli
from tests.architecture.pages import Command, blocks_of, commands_of
from tests.architecture.tree import ROOT
from tests.questions.recorded_night import NIGHT

QUESTIONS = ROOT / "docs" / "questions.md"
#: Of the terminal for which the pages are written.
COLUMNS = 100
_HEADING = re.compile(r"^## (\d+)\. (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Question:
    number: int
    text: str
    commands: tuple[Command, ...]


def questions() -> list[Question]:
    """As the page asks and answers them from the journal; of the others it shows the answer."""
    text = QUESTIONS.read_text()
    lines = {text.count("\n", 0, found.start()) + 1: found for found in _HEADING.finditer(text)}
    commands_at = {
        block.line: tuple(commands_of(block))
        for block in blocks_of(QUESTIONS)
        if block.language == "console"
    }
    starts = [*lines, text.count("\n") + 1]
    return [
        Question(
            int(found[1]),
            found[2],
            tuple(
                command
                for line, commands in commands_at.items()
                if start < line < end
                for command in commands
            ),
        )
        for (start, found), end in zip(lines.items(), starts[1:], strict=True)
    ]


def answer_to(command: Command, folder: Path) -> str:
    """What a person reads, in a folder that holds the recorded journal of the first command."""
    assert command.words[0] == "bigfleet"
    if not (folder / "journal").exists():
        named = command.block.journal
        shutil.copytree(ROOT / named if named else NIGHT, folder / "journal")
    with chdir(folder):
        runner = CliRunner(env={"COLUMNS": str(COLUMNS), "XDG_CONFIG_HOME": str(folder)})
        done = runner.invoke(
            cli, command.words[1:], prog_name="bigfleet", terminal_width=COLUMNS - 2
        )
    assert done.exit_code == 0, f"{command}\n{done.output}"
    return done.stdout


def lines_of(text: str) -> list[list[str]]:
    """Lines as the words they have; nothing in a recorded journal varies from run to run."""
    return [line.split() for line in text.splitlines() if line.strip()]
