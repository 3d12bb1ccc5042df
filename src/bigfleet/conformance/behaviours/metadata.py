"""Metadata: opaque to the provider, byte for byte, and each machine has its own."""

from bigfleet.conformance.behaviours.lifecycle import traced_to
from bigfleet.conformance.claims import must_be_bound, must_be_clean, must_carry
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code

METADATA = Area("Metadata")
READS = 4


def hostile_metadata() -> dict[str, str]:
    """55 keys with what a store, a text format or a well-meaning clean-up would spoil."""
    hostile = {
        "nul\x00in-key": "plain",
        "nul-in-value": "a\x00b",
        "only-nul": "\x00",
        "empty-value": "",
        "": "empty key",
        " leading": " leading",
        "trailing ": "trailing  ",
        "tab\tkey": "tab\tvalue",
        "newline": "one\ntwo\r\nthree",
        "quote": "\"'`\\",
        "json": '{"a": [1, null]}',
        "yaml": "- yes\n- no: off",
        "percent": "%s %n %00",
        "combining": "e\u0301 and \u00e9",
        "bidi": "\u202eabc\u202c",
        "zero-width": "a\u200bb\ufeff",
        "emoji": "\U0001f9ca\U0001f469\u200d\U0001f680",
        "astral": "\U0010fffd",
        "case": "MiXeD",
        "CASE": "other key",
        "unicode-\u00fc\u4e2d\u0416": "\u00fc\u4e2d\u0416",
        "delete": "\x7f",
        "kubernetes.io/long/path/key": "x" * 300,
    }
    for code in (*range(1, 9), *range(14, 26)):
        hostile[f"c0-{code:02x}\x00{chr(code)}"] = f"<{chr(code)}>"
    for code in range(0x80, 0x8C):
        hostile[f"c1-{code:02x}"] = f"<{chr(code)}>"
    return hostile


@METADATA.row(
    "B501",
    "55 hostile keys come back byte for byte on every read",
    mutant="NUL stripped",
    machines=1,
)
async def hostile_keys(trial: Trial) -> None:
    metadata = hostile_metadata()
    machine = await trial.lease_configured("b501", metadata)
    for _ in range(READS):
        must_be_bound(await trial.get(machine), "b501", metadata)
    must_carry((await trial.listing([S.CONFIGURED])).find(machine), metadata)


@METADATA.row(
    "B502",
    "A new assignment shows nothing of the old one",
    mutant="maps merged",
    machines=1,
)
async def assignments_do_not_mix(trial: Trial) -> None:
    machine = await trial.lease_configured("b502-old", {"old": "1", "older": "2"})
    must_be_clean(await trial.release(machine))
    must_be_bound(await trial.bind(machine, "b502", {"new": "3"}), "b502", {"new": "3"})


@METADATA.row(
    "B503",
    "256 keys of 8 KiB come back verbatim or are refused whole",
    mutant="values cut at 4 KiB",
    machines=1,
)
async def long_values(trial: Trial) -> None:
    machine = await trial.lease_idle()
    metadata = {f"key-{n:03d}": f"{n:03d}".ljust(8192, "v") for n in range(256)}
    answer = await trial.configure(machine, "b503", metadata)
    if answer.must_be(Code.OK, Code.INVALID_ARGUMENT).ok:
        must_be_bound(await trial.settles(machine, S.CONFIGURED, 30), "b503", metadata)
        await trial.release(machine)
    else:
        must_be_clean(await trial.holds(machine, S.IDLE, trial.pace.hold_error))


@METADATA.row(
    "B504",
    "Metadata is there from CONFIGURING on",
    mutant="metadata late",
    machines=1,
)
async def metadata_is_early(trial: Trial) -> None:
    machine, metadata = await trial.lease_idle(), {"early": "yes", "bird": "\x00"}
    async with trial.traced(machine) as samples:
        (await trial.configure(machine, "b504", metadata)).must_be_ok()
        await traced_to(trial, samples, machine, S.CONFIGURED)
    for sample in samples:
        if sample.state in (S.CONFIGURING, S.CONFIGURED):
            must_carry(sample, metadata)


@METADATA.row(
    "B505",
    "Machines do not share their maps",
    mutant="one shared map",
    machines=2,
)
async def maps_are_not_shared(trial: Trial) -> None:
    first, second = await trial.lease_idles(2)
    ours, theirs = {"both": "1", "first": "a"}, {"both": "2", "second": "b"}
    await trial.bind(first, "b505-a", ours)
    await trial.bind(second, "b505-b", theirs)
    must_be_bound(await trial.get(first), "b505-a", ours)
    must_be_bound(await trial.get(second), "b505-b", theirs)
    await trial.release(first)
    must_be_bound(await trial.get(second), "b505-b", theirs)
    other = {"both": "3", "third": "c"}
    must_be_bound(await trial.bind(first, "b505-c", other), "b505-c", other)
    must_be_bound(await trial.get(second), "b505-b", theirs)
