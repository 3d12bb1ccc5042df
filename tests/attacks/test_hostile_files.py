"""Fleet and settings files written to hurt their reader: refused with their place, within bounds.

`bigfleet plan` is a process of its own here where a crash would take pytest along.
"""

import gzip
import io
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bigfleet.cli.main import cli
from bigfleet.fleetfile import load_fleet
from bigfleet.fleetfile import machines as of_machines
from bigfleet.fleetfile import needs as of_needs
from bigfleet.fleetfile import settings as of_settings
from bigfleet.model.errors import BadInput
from tests.nightly import IS_NIGHTLY

#: One file of each attack is enough to show the limit; nightly they are as large as were seen.
MANY = 20_000 if IS_NIGHTLY else 5_000
HEAD = "version: 1\nkind: Fleet\n"
MACHINE = "{id: m, state: Speculative, capacityType: OnDemand, resources: {cpu: 8}, %s}"


def plan(content: bytes | str, *more: str) -> Result:
    text = content.encode() if isinstance(content, str) else content
    return CliRunner().invoke(cli, ["plan", "-", *more], input=text)


def refusal_of(content: bytes | str) -> str:
    """What `plan` says on standard error; it must be exit 2 and no traceback."""
    result = plan(content)
    assert result.exit_code == 2, (result.exit_code, repr(result.exception), result.output[-500:])
    assert "Traceback" not in result.output
    assert len(result.stderr) < 50_000
    return result.stderr


def problems_of(content: bytes, name: str) -> list[str]:
    """Of a sound file there are none; anything but BadInput is a test that fails."""
    try:
        load_fleet(content, name)
    except BadInput as refusal:
        return [str(problem) for problem in refusal.problems]
    return []


def bomb(levels: int, merge: bool) -> str:
    """Each level repeats the one before it ten times: ten to the power of `levels` in all."""
    lines = ["a0: &a0 {k: v}"]
    for n in range(1, levels):
        repeated = ", ".join([f"*a{n - 1}"] * 10)
        lines.append(f"a{n}: &a{n} {{<<: [{repeated}]}}" if merge else f"a{n}: &a{n} [{repeated}]")
    return HEAD + "\n".join(lines) + "\n"


def flooded(byte_count: int) -> bytes:
    """A gzip file of so many zeros, made without having them at once."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(byte_count // 2**20):
            file.write(bytes(2**20))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "machines: !!timestamp nonsense\n", "tag !!timestamp is not read"),
        (HEAD + "machines: !!bool perhaps\n", "tag !!bool is not read"),
        (HEAD + "machines: !!python/object:os.system {}\n", "tag !!python/object:os.system"),
        (HEAD + "machines: !!float x\n", "tag !!float is not read"),
        (HEAD + "machines: &a [*a]\n", "alias *a: it is part of itself"),
        (HEAD + f"x-n: {'9' * 5000}\n", "a number of 5,000 digits"),
        (bomb(12, merge=False), "aliases repeat more than 4,000,000 characters"),
        (bomb(12, merge=True), "aliases repeat more than 4,000,000 characters"),
    ],
    ids=[
        *("a time that is none", "a bool that is none", "an object", "a float that is none"),
        *("an alias within itself", "thousands of digits", "an alias bomb", "a merge bomb"),
    ],
)
def test_yaml_that_costs_more_than_it_says_is_refused_with_its_line(text: str, said: str) -> None:
    refusal = refusal_of(text)
    assert said in refusal
    assert "(line " in refusal
    assert ", column " in refusal


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"version": 1, "x-n": ' + "9" * 5000 + ', "x-m": NaN}', "a number of 5,000 digits"),
        ('{"version": ' + "9" * 5000 + "}", "digits"),
        ("[" * 600 + "NaN" + "]" * 600, "levels"),
        ('{"x-a": ' + "[" * 600 + "NaN" + "]" * 600 + "}", "levels"),
        ('{"x-a": ' + "[" * 600 + "1" + "]" * 600 + "}", "levels"),
        ('{"x-a": "\\ud800", "x-b": NaN}', "surrogate"),
    ],
    ids=["digits and NaN", "digits", "a deep list", "deep NaN", "deep", "half a character"],
)
def test_json_that_costs_more_than_it_says_is_refused(text: str, said: str) -> None:
    assert said in refusal_of(text)


@pytest.mark.parametrize("ending", [".yaml", ".json", ".jsonl"])
@pytest.mark.parametrize("opening", ["[", '{"a":', "- "], ids=["lists", "mappings", "dashes"])
def test_levels_beyond_any_parser_end_no_process(tmp_path: Path, ending: str, opening: str) -> None:
    file = tmp_path / f"deep{ending}"
    file.write_text(opening * 100_000)
    code = "from bigfleet.fleetfile import load_fleet\nfrom bigfleet.model.errors import BadInput\n"
    code += "import sys\nfrom pathlib import Path\n"
    code += "try: load_fleet(Path(sys.argv[1]).read_bytes(), sys.argv[1])\n"
    code += "except BadInput as refusal: print(refusal)\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    assert done.stdout


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("pricePerHour: 1.7e308", "at most 1e+09"),
        ("pricePerHour: .nan", "a price is a finite number"),
        ("assigned: {interruptionPenalty: 1e308}", "at most 1e+15"),
    ],
)
def test_a_machine_with_a_number_beyond_reason_is_refused_with_its_path(
    field: str, said: str
) -> None:
    refusal = refusal_of(HEAD + "machines:\n  - " + MACHINE % field + "\n")
    assert refusal.startswith("machines[0].")
    assert said in refusal


@pytest.mark.parametrize(
    "option",
    [
        *("drainSeconds: 1e300", "reservationMargin: 1e300", "releaseHolds: {Spot: 1e300}"),
        *("victimWeights: {priority: 1e308}", "parking: {after: 1e300}"),
    ],
)
def test_an_option_beyond_reason_is_refused_with_its_path(option: str) -> None:
    assert refusal_of(HEAD + f"options: {{{option}}}\n").startswith("options.")


@pytest.mark.parametrize("kind", ["BareMetal", "Reserved"])
def test_a_hold_that_can_have_no_effect_is_refused(kind: str) -> None:
    refusal = refusal_of(HEAD + f"options: {{releaseHolds: {{{kind}: 1}}}}\n")
    assert f"{kind} machines are never released; leave it out, or write 0" in refusal


def test_more_machines_than_a_file_may_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_machines, "MOST_MACHINES", 4_000)
    line = '  - {id: "m%d-{0}", count: 2000, state: Speculative, capacityType: Spot}\n'
    text = HEAD + "machines:\n" + "".join(line % n for n in range(3))
    assert "machines[2]: more than 4,000 machines in one file" in refusal_of(text)


def test_a_gzip_bomb_is_refused_before_it_is_unpacked() -> None:
    packed = flooded(2**30 if IS_NIGHTLY else 64 * 2**20)
    assert "packed bytes unpack to more than" in refusal_of(packed)
    assert "packed bytes unpack to more than" in refusal_of(packed[: len(packed) // 2] + packed)


def test_a_torn_gzip_file_is_refused() -> None:
    whole = gzip.compress(HEAD.encode() * 100)
    assert "not a gzip file" in refusal_of(whole[:-9])
    assert "not a gzip file" in refusal_of(whole[:10] + zlib.compress(b"x"))


def test_a_count_repeats_neither_long_ids_nor_long_labels_without_bound() -> None:
    entry = "state: Idle, capacityType: Spot, count: 2000000"
    wide = f"machines:\n  - {{id: 'm-{{{'0' * 100_000}}}', {entry}}}\n"
    assert "machines[0].id" in refusal_of(HEAD + wide)
    labels = ", ".join(f"l{number}: v" for number in range(1_000))
    racks = f"machines:\n  - {{id: 'm-{{0}}', racks: 2000000, labels: {{{labels}}}, {entry}}}\n"
    assert "machines[0].racks" in refusal_of(HEAD + racks)


def test_of_very_many_problems_the_first_fifty_are_shown_and_all_are_counted() -> None:
    refusal = refusal_of(HEAD + "".join(f"unknown{n}: 1\n" for n in range(MANY)))
    lines = refusal.splitlines()
    assert len(lines) == 51
    assert lines[0].startswith("unknown0: unknown key")
    assert lines[0].endswith("(line 3)")
    assert lines[-1] == (
        f"-: {MANY:,} problems, of which the first 50 are shown; nothing was planned"
    )


def test_a_settings_file_of_unknown_keys_or_aliases_is_refused_within_bounds(
    tmp_path: Path,
) -> None:
    many, repeating = tmp_path / "many.yaml", tmp_path / "repeating.yaml"
    many.write_text("shard:\n" + "".join(f"  unknown{n}: 1\n" for n in range(MANY // 10)))
    repeating.write_text(bomb(12, merge=True))
    (tmp_path / "deep.toml").write_text("a = " + "[" * 20_000)
    for file in (many, repeating, tmp_path / "deep.toml"):
        words = ["shard", "--config", str(file), "--print-config"]
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 2, (file, repr(result.exception))
        assert len(result.stderr.splitlines()) <= 51


ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def test_names_in_a_file_cannot_drive_the_terminal() -> None:
    quoted = '"' + "".join(f"\\u{ord(c):04x}" for c in ESCAPES) + '"'
    text = HEAD + (
        f"name: {quoted}\nneeds:\n  - {{cluster: c, name: {quoted}, priority: 1,"
        f" group: {quoted}, aggregateResources: {{{quoted}: 1, cpu: 1}}, minUnit: {{cpu: 1}}}}\n"
        f"machines:\n  - {{id: m, state: Idle, capacityType: Spot}}\n"
    )
    for words in ([], ["--explain"], ["--color", "always"], ["-o", "json"]):
        result = plan(text, *words)
        assert result.exit_code == 0, repr(result.exception)
        said = result.stdout.replace("\x1b[0m", "")
        assert not set(said) & set("\x07\x9b\u202e"), words
        assert "\x1b]" not in said
        assert "\x1b[2J" not in said
    # What must be a name is refused, and the refusal drives no terminal either.
    machine = f"{{id: {quoted}, state: Idle, capacityType: Spot, labels: {{a: {quoted}}}}}"
    refusal = refusal_of(f"{HEAD}machines:\n  - {machine}\nneeds:\n  - {{cluster: {quoted}}}\n")
    assert "machines[0].id" in refusal
    assert "machines[0].labels.a" in refusal
    assert "needs[0].cluster" in refusal
    assert not set(refusal) & set("\x1b\x07\x9b\u202e")


def test_names_in_a_refusal_cannot_drive_the_terminal() -> None:
    refusal = refusal_of(HEAD + '"\\e[2J": 1\n')
    assert "\x1b" not in refusal
    assert "u001b[2J" in refusal


#: Pieces that files are made of, and pieces that hurt; glued together in any order.
PIECES = st.sampled_from(
    [
        *("version: 1\n", "kind: Fleet\n", "machines:\n", "needs:\n", "options:\n", "memory:\n"),
        *(
            "  - ",
            "{",
            "}",
            "[",
            "]",
            ": ",
            ", ",
            "&a ",
            "*a",
            "<<: ",
            "!!",
            "!!set ",
            "!!binary x",
        ),
        *("id: m", "state: Idle", "capacityType: Spot", "count: 99999999999", "zones: [a, 1]"),
        *(".nan", ".inf", "1e308", "-1e308", "9" * 50, "0x1F", "1_000", "~", "null", "true"),
        *("pricePerHour: ", "resources: ", "cluster: c", "priority: ", "aggregateResources: "),
        *("releaseHolds: ", "drainSeconds: ", "cycles: ", "now: ", '"2026-01-01T00:00:00Z"'),
        *(
            "interruptionPenaltyBucket: ",
            "age: ",
            "arrival: ",
            "'",
            '"',
            "\\",
            "\x1b",
            "\x00",
            "\t",
        ),
        *("? ", "| \n", "> \n", "%YAML 1.1\n", "---\n", "...\n", "#", "\u202e", "\ud800"),
        *('{"version":1,"kind":"Fleet"}\n', '{"machine":', '{"need":', "NaN", "Infinity", '"x-": '),
    ]
)


@settings(
    max_examples=5_000 if IS_NIGHTLY else 150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(PIECES, max_size=40), st.sampled_from(["a.yaml", "a.json", "a.jsonl", "a"]))
@example(["priority: ", "9" * 50], "a.yaml")
@example(["interruptionPenaltyBucket: ", "9" * 400], "a.yaml")
def test_no_text_at_all_is_a_traceback(pieces: list[str], name: str) -> None:
    problems = problems_of("".join(pieces).encode("utf-8", "surrogatepass"), name)
    assert len(problems) <= 50
    assert all(len(problem) < 5_000 for problem in problems)


#: Values of every kind under every key: reading goes on after each, so one file tries many.
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**39), 10**39)
    | st.floats()
    | st.sampled_from(["", "Spot", "Idle", "pinned", "all", "1e400", "9" * 70, "\x1b[0m", "a/b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cpu", "Spot", "by", "key", "values", "x"]), inner)
    ),
    max_leaves=4,
)


@settings(max_examples=3_000 if IS_NIGHTLY else 60, deadline=None)
@given(st.data())
def test_no_value_under_any_key_is_a_traceback(data: st.DataObject) -> None:
    def some(keys: frozenset[str]) -> dict[str, object]:
        return data.draw(st.dictionaries(st.sampled_from(sorted(keys)), VALUES, max_size=6))

    machine, need = some(of_machines._KEYS), some(of_needs._KEYS)
    # A count that is sound makes machines, which is another test's matter.
    if type(machine.get("count")) is int:
        machine["count"] = 2
    document = {
        "version": 1,
        "kind": "Fleet",
        "machines": [machine],
        "needs": [need],
        "options": some(of_settings._OPTION_KEYS),
        "memory": some(of_settings._MEMORY_KEYS),
    }
    assert len(problems_of(json.dumps(document).encode(), "a.json")) <= 50
