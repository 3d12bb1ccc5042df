"""docs/cli.md: its table is made from the code, and every verb has an example that is run."""

import pytest

from bigfleet.cli.main import VERBS
from tests.architecture.pages import Command, blocks_of, commands_of, walks
from tests.architecture.walking import agree
from tests.cli.verb_table import PAGE, table_on_page, verb_table


def test_the_table_of_verbs_is_that_of_the_code() -> None:
    shown = table_on_page(PAGE.read_text())
    assert shown == verb_table(), "run: python -m tests.cli.verb_table"


def commands_on_page() -> list[Command]:
    blocks = [block for block in blocks_of(PAGE) if block.language == "console"]
    return [command for block in blocks for command in commands_of(block)]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_a_section_and_an_example(verb: str) -> None:
    assert f"\n### `{verb}`\n" in PAGE.read_text()
    named = [("bigfleet", verb), ("bigfleet", "help", verb)]
    examples = [
        each for each in commands_on_page() if each.words[:2] in named or each.words[:3] in named
    ]
    shown = any(each.output or each.words[-1] == "&" for each in examples)
    assert shown, f"docs/cli.md shows no example of {verb} with its output"


def test_the_page_is_walked_from_top_to_bottom() -> None:
    assert PAGE in walks()


LINES = {
    "all of it": ("a b c", "a b c", True),
    "another line": ("a b c", "a x c", False),
    "the rest is left out": ("a b c", "a ...", True),
    "something between": ("a b c d", "a ... d", True),
    "the end is missing": ("a b c", "a ... d", False),
    "nothing is left out": ("a b", "a ... b", True),
}


@pytest.mark.parametrize(("printed", "shown", "same"), LINES.values(), ids=LINES)
def test_dots_stand_for_lines_that_are_left_out(printed: str, shown: str, same: bool) -> None:
    lines = [[word] for word in printed.split()]
    assert agree(lines, [[word] for word in shown.split()]) is same
