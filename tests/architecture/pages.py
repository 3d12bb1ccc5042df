"""Pages of documentation as the blocks a test can run."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.tree import name_of, pages

_FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
#: What differs from run to run: how long the cycle took.
_VARYING = [(re.compile(r"decided in [0-9.]+ (ms|s)\b"), "decided in <time>")]


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    block: Block
    words: tuple[str, ...]
    #: What the page shows; empty: the page shows only the command.
    output: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.block} {' '.join(self.words)}"


def blocks(language: str) -> list[Block]:
    return [b for page in pages() for b in blocks_of(page) if b.language == language]


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(name_of(page), line, match["language"], match["text"])


def commands(program: str) -> list[Command]:
    found = (command for block in blocks("console") for command in commands_of(block))
    return [command for command in found if command.words[0] == program]


def commands_of(block: Block) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        first, *output = part.splitlines()
        yield Command(block, tuple(shlex.split(first, comments=True)), tuple(output))


def normalised(text: str) -> str:
    """Without trailing spaces and blank lines, what varies replaced by its name."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
