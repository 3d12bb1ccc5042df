"""Pages of documentation as the blocks a test can run."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.architecture.tree import name_of, pages

_FENCE = re.compile(
    r"^```(?P<language>\w*)(?: file=(?P<file>\S+))?(?P<said>[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: What differs from run to run: how long a cycle took, when something happened and how long ago, in
#: which cycle and store, under which id it was paused; and the figures of a simulation, which
#: change with every decision that does.
_VARYING = [
    (re.compile(r"decided in [0-9.]+ (ms|s)\b"), "decided in <time>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?"), "<instant>"),
    (re.compile(r"\bcycle (\d+:)?\d+"), "cycle <n>"),
    (re.compile(r"\b([\d,]+) of \1 cycles identical, .*"), "<n> of <n> cycles identical"),
    (re.compile(r"\btook \d+ ms\b"), "took <time>"),
    (re.compile(r"(?<=\s)\d{1,3}[smhd](?=\s|$)", re.MULTILINE), "<age>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{10}\b"), "<pause>"),
    (re.compile(r"(?<=NO_MATCHING_SUPPLY)\s+\d+"), " <cycles>"),
    (re.compile(r"\d+(?=\s+<age>\s+rebalance\.)"), "<cycles>"),
    (re.compile(r"^(shard-0 +\d+ +)\d+", re.MULTILINE), r"\1<n>"),
    (re.compile(r"^(\S+ +\d+ +(?:yes|no) +[\d,]+ s) .*$", re.MULTILINE), r"\1 <figures>"),
    (re.compile(r"\bop-[0-9a-f]{8,}-(\d+)"), r"op-<store>-\1"),
]


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    language: str
    text: str
    #: The block is this file (`file=NAME` after the language); empty: it is not one.
    file: str = ""
    #: What else stands after the language.
    said: str = ""

    @property
    def journal(self) -> str:
        """The recorded journal that its commands find as `journal` (`journal=FOLDER` after the
        language); empty: none."""
        return self.said.removeprefix("journal=") if self.said.startswith("journal=") else ""

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


@cache
def walks() -> list[Path]:
    """Pages that build something, or ask a recorded journal: their blocks belong together and are
    run in order."""
    return [p for p in pages() if any(block.file or block.journal for block in blocks_of(p))]


def blocks(language: str) -> list[Block]:
    """Blocks that stand for themselves."""
    alone = [page for page in pages() if page not in walks()]
    return [b for page in alone for b in blocks_of(page) if b.language == language]


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        file, said = match["file"] or "", match["said"].strip()
        yield Block(name_of(page), line, match["language"], match["text"], file, said)


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
