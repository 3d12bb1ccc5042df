"""The frame around the verbs: help, version, completion."""

import json

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from bigfleet import __version__
from bigfleet.cli.main import VERBS, cli


def output_of(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_help_lists_every_verb_with_what_it_answers() -> None:
    shown = output_of("--help")
    for name, verb in VERBS.items():
        assert f"  {name}" in shown
        assert verb.summary in shown


GROUPS = [
    *("certs", "clusters", "domains", "machines", "pause", "provider", "provider sim"),
    *("providers", "quarantines", "quotas", "reports", "shards", "snapshot"),
]


@pytest.mark.parametrize("group", GROUPS)
def test_no_line_about_a_verb_of_a_group_is_cut(group: str) -> None:
    verbs = output_of(*group.split(), "--help").partition("\nCommands:\n")[2]
    assert verbs
    assert [line for line in verbs.splitlines() if line.endswith("...")] == []


def test_the_version_is_printed() -> None:
    assert output_of("--version") == f"bigfleet {__version__}\n"


def test_the_help_of_plan_teaches_by_example() -> None:
    shown = output_of("plan", "--help")
    assert "bigfleet plan fleet.yaml -o json | jq .summary" in shown
    assert "kind: Fleet" in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for(shell: str) -> None:
    script = output_of("completion", shell)
    assert "_BIGFLEET_COMPLETE" in script
    assert f"{shell}_complete" in script


@pytest.mark.parametrize("verb", ["machines", "ops", "sim state"])
def test_a_provider_that_is_not_there_is_told_in_one_sentence(verb: str) -> None:
    result = CliRunner().invoke(cli, ["provider", *verb.split(), "--addr", "127.0.0.1:1"])
    assert (result.exit_code, result.stderr) == (
        3,
        "no provider answers: Connection refused; start one, or name another with --addr\n",
    )


MISSPELT = {
    "a verb": (["machine"], "No such command 'machine'. Did you mean 'machines'?"),
    "the words of another tool": (["get", "machines"], "Did you mean 'bigfleet machines'?"),
    "a verb of a group": (["shards", "transfer"], "Did you mean 'transfers'?"),
    "a verb of a plain group": (["snapshot", "sav"], "Did you mean 'save'?"),
    "a verb that a group has": (["offerings"], "Did you mean 'bigfleet reports offerings'?"),
    "another one": (["reservations"], "Did you mean 'bigfleet machines reservations'?"),
    "an option": (["machines", "--faild"], "Did you mean '--failed'?"),
    "a choice": (["pause", "--kind", "reclaims", "--reason", "x"], "Did you mean 'reclaim'?"),
    "a choice of a setting": (["needs", "-o", "jsn"], "Did you mean 'json'?"),
    "a verb one wants help for": (["help", "machines", "stroy"], "Did you mean 'story'?"),
}


@pytest.mark.parametrize(("words", "said"), MISSPELT.values(), ids=MISSPELT)
def test_what_was_probably_meant_is_suggested(words: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_the_version_is_a_verb_too() -> None:
    assert output_of("version") == f"bigfleet {__version__}\n"
    told = json.loads(output_of("version", "-o", "json"))
    assert told["version"] == __version__
    assert set(told) == {"version", "python", "platform", "queriedAt"}


def test_help_is_a_verb_too() -> None:
    assert output_of("help") == output_of("--help")
    assert output_of("help", "machines", "story") == output_of("machines", "story", "--help")


COMPLETED = {
    "a verb": ("he", ["help"]),
    "a form": ("needs -o y", ["yaml"]),
    "a column": ("shards --sort-by ST", ["STATE"]),
    "a verb to be explained": ("help machines st", ["story"]),
}


@pytest.mark.parametrize(("typed", "offered"), COMPLETED.values(), ids=COMPLETED)
def test_a_shell_completes(typed: str, offered: list[str]) -> None:
    *words, begun = typed.split()
    found = ShellComplete(cli, {}, "bigfleet", "_BIGFLEET_COMPLETE").get_completions(words, begun)
    assert [item.value for item in found] == offered
