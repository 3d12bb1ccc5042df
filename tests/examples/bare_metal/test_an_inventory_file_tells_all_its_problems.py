"""What is wrong with an inventory file is told at once, before anything is served."""

from pathlib import Path
from textwrap import dedent

import pytest

from bigfleet_bare_metal.racks import BadInventory, racks_in
from tests.architecture.tree import ROOT

EXAMPLE = ROOT / "examples" / "providers" / "bare-metal" / "inventory.yaml"

HOOKS = "{configure: {command: [a]}, drain: {command: [b]}, ready: {command: [c]}}"
TYPES = '{big: {resources: {cpu: "64"}}}'

PROBLEMS = {
    "no zone": (HOOKS, "[{name: a1, type: big}]", "give it a zone"),
    "a name that is no DNS name": (
        HOOKS,
        "[{name: A_1, type: big, zone: z}]",
        "'A_1': write the name as a lower-case DNS name",
    ),
    "a host listed twice": (
        HOOKS,
        "[{name: a1, type: big, zone: z}, {name: a1, type: big, zone: z}]",
        "'a1' is listed twice",
    ),
    "an unknown type": (HOOKS, "[{name: a1, type: small, zone: z}]", "'small' is not among"),
    "an address ssh would read as an option": (
        HOOKS,
        "[{name: a1, type: big, zone: z, address: -oProxyCommand=x}]",
        "would be read as an option",
    ),
    "no way to know that a node is Ready": (
        "{configure: {command: [a]}, drain: {command: [b]}}",
        "[]",
        "hook ready is missing",
    ),
    "create without survey": (
        HOOKS.replace("{configure", "{create: {command: [p]}, configure", 1),
        "[]",
        "create needs the hook survey",
    ),
    "ssh without pinned keys": (
        HOOKS.replace("{configure", "{via: ssh, configure", 1),
        "[]",
        "give ssh its known_hosts",
    ),
    "an empty command": (
        HOOKS.replace("[a]", "[]"),
        "[]",
        "hook configure: the command is empty",
    ),
    "an unknown key": (HOOKS.replace("{configure", "{konfigure", 1), "[]", "konfigure"),
}


def write(folder: Path, hooks: str, hosts: str) -> Path:
    path = folder / "inventory.yaml"
    path.write_text(
        dedent(f"""
        hooks: {hooks}
        types: {TYPES}
        hosts: {hosts}
        """)
    )
    return path


@pytest.mark.parametrize(("hooks", "hosts", "told"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_is_told(tmp_path: Path, hooks: str, hosts: str, told: str) -> None:
    with pytest.raises(BadInventory, match=told):
        racks_in(write(tmp_path, hooks, hosts))


def test_all_problems_are_told_together(tmp_path: Path) -> None:
    hosts = "[{name: a1, type: small}, {name: B, type: big, zone: z}]"
    with pytest.raises(BadInventory) as refused:
        racks_in(write(tmp_path, HOOKS, hosts))
    assert len(str(refused.value).splitlines()) == 3


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInventory, match="no-such-file"):
        racks_in(tmp_path / "no-such-file")


def test_the_example_file_is_sound() -> None:
    assert [host.name for host in racks_in(EXAMPLE).hosts] == ["a1-01", "a1-02", "a2-01", "b1-01"]
