"""List, revision, paging: a consistent cut, exact filters, and cursors that miss nothing.

A quiet delta may still hold a machine whose price, probability or labels really changed; what it
may not hold is a machine that is as it was, or whose lifecycle moved (2.4 c).
"""

from collections.abc import Sequence
from dataclasses import replace

from bigfleet.conformance.caller import Listing
from bigfleet.conformance.claims import must, must_equal
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import MachineRecord

LISTING = Area("List, revision, paging", exclusive=True)
PAGES = 64


def must_have_no_duplicates(listing: Listing) -> None:
    ids = listing.ids
    must(len(set(ids)) == len(ids), f"List holds {len(ids)} machines, {len(set(ids))} ids")


def must_be_quiet(before: dict[str, MachineRecord], delta: Sequence[MachineRecord]) -> None:
    for record in delta:
        old = before.get(record.id)
        if old is None:
            must(False, f"{record.id} appeared while nothing was done")
        elif record == old:
            must(False, f"{record.id} is in the delta and is as it was: a spurious revision")
        else:
            must(_market_free(record) == _market_free(old), f"{record.id} moved by itself")


def _market_free(record: MachineRecord) -> MachineRecord:
    return replace(
        record,
        price_per_hour=0.0,
        interruption_probability=0.0,
        resources={},
        allocatable={},
        labels={},
    )


@LISTING.row(
    "B901",
    "State filters give exactly the union of their states",
    mutant="only first state used",
    machines=2,
)
async def filters(trial: Trial) -> None:
    await trial.lease_idle()
    await trial.lease_configured("b901")
    everything = await trial.listing()
    must_have_no_duplicates(everything)
    for state in S:
        if state is not S.UNSPECIFIED:
            await must_match(trial, everything, (state,))
    await must_match(trial, everything, (S.SPECULATIVE, S.IDLE, S.CONFIGURED))


async def must_match(trial: Trial, everything: Listing, states: tuple[S, ...]) -> None:
    found = await trial.listing(states)
    names = ", ".join(state.name for state in states)
    must_have_no_duplicates(found)
    expected = {record.id for record in everything.records if record.state in states}
    must(set(found.ids) == expected, f"List({names}) must hold exactly the machines in {names}")
    must(all(r.state in states for r in found.records), f"List({names}) holds another state")


@LISTING.row("B902", "A cap is a ceiling and never empties the answer", mutant="cap + 1")
async def caps(trial: Trial) -> None:
    everything = await trial.listing()
    for cap in (1, 2, 3):
        found = await trial.listing(cap=cap)
        must(0 < len(found.records) <= cap, f"max_results {cap} gave {len(found.records)} machines")
        must(set(found.ids) <= set(everything.ids), f"max_results {cap} gave unknown machines")
        must_have_no_duplicates(found)
    again = await trial.listing(cap=0)
    must_equal(len(again.records), len(everything.records), "machines without a cap")


@LISTING.row(
    "B903",
    "A Create moves the revision and shows in the delta",
    mutant="Create not in delta",
    machines=1,
    slots_first=True,
    gates=("since_revision",),
)
async def creates_show(trial: Trial) -> None:
    before = (await trial.listing()).revision
    slot = trial.has_slot
    machine = await trial.lease_idle()
    if not slot:
        await trial.bind(machine, "b903")
    after = await trial.listing(since=before)
    must(after.revision != before, "the revision must change when a machine is created")
    after.find(machine)


@LISTING.row(
    "B904",
    "Nothing happened, nothing is in the delta",
    mutant="since inclusive",
    machines=1,
    gates=("since_revision",),
)
async def quiet_deltas(trial: Trial) -> None:
    await trial.lease_idle()
    everything = await trial.listing()
    delta = await trial.listing(since=everything.revision)
    if trial.settings.original:
        must_equal(delta.ids, [], "delta since the head")
    must_be_quiet(everything.by_id(), delta.records)


@LISTING.row(
    "B905",
    "A delta holds every change since its cursor, however many there were",
    mutant="only last delta kept",
    machines=4,
    gates=("since_revision",),
)
async def deltas_reach_back(trial: Trial) -> None:
    machines = await trial.lease_idles(4)
    cursors = [(await trial.listing()).revision]
    for machine in machines:
        await trial.bind(machine, "b905")
        cursors.append((await trial.listing()).revision)
    must(len(set(cursors)) == len(cursors), "each change must move the revision")
    for place, cursor in enumerate(cursors):
        delta = await trial.listing(since=cursor)
        for machine in machines[place:]:
            must(machine in delta.ids, f"the delta since change {place} lacks {machine}")


@LISTING.row(
    "B906", "A cursor that is none gives the full list, never an error", mutant="junk gives error"
)
async def junk_cursors(trial: Trial) -> None:
    everything = set((await trial.listing()).ids)
    for junk in (b"", b"not-a-cursor", bytes(range(256)), b"\xde" * 4096):
        found = await trial.listing(since=junk)
        must(set(found.ids) == everything, f"since_revision {junk[:16]!r} must give the full list")


@LISTING.row(
    "B907",
    "A capped delta is either an honest head-echo or can be followed to its end",
    mutant="one record lost per page",
    machines=5,
    gates=("since_revision",),
)
async def capped_deltas(trial: Trial) -> None:
    machines = await trial.lease_idles(5)
    before = (await trial.listing()).revision
    for machine in machines:
        await trial.bind(machine, "b907")
    pages = await followed(trial, before, cap=2)
    seen = [machine for page in pages for machine in page]
    must(len(set(seen)) == len(seen), f"a machine came twice in {len(pages)} pages")
    if len(pages) > 1:
        missing = set(machines) - set(seen)
        must(not missing, f"following the pages never gave {sorted(missing)}")


async def followed(trial: Trial, since: bytes, cap: int, pages: int = PAGES) -> list[list[str]]:
    """Pages from a cursor until an empty one; a head-echo provider gives only the first."""
    found: list[list[str]] = []
    cursor = since
    for _ in range(pages):
        page = await trial.listing(cap=cap, since=cursor)
        must(len(page.records) <= cap, f"a page of {cap} holds {len(page.records)} machines")
        must_have_no_duplicates(page)
        if not page.records:
            return found
        found.append(page.ids)
        cursor = page.revision
    must(False, f"the pages do not end: {pages} were read")
    return found


@LISTING.row(
    "B908",
    "A quiet provider moves no revision",
    mutant="refresh bumps",
    machines=1,
    gates=("since_revision",),
)
async def quiet_providers(trial: Trial) -> None:
    await trial.lease_idle()
    everything = await trial.listing()
    end = trial.clock.now() + trial.pace.quiet
    while trial.clock.now() < end:
        delta = await trial.listing(since=everything.revision)
        if trial.settings.original:
            must_equal(delta.ids, [], "delta while nothing is done")
        must_be_quiet(everything.by_id(), delta.records)
        await trial.clock.sleep(trial.pace.quiet_poll)


@LISTING.row(
    "B909",
    "A cursor counts whole or not at all",
    mutant="prefix parse",
    machines=1,
    gates=("since_revision",),
)
async def altered_cursors(trial: Trial) -> None:
    await trial.lease_idle()
    everything = await trial.listing()
    cursor, ids = everything.revision, set(everything.ids)
    own = await trial.listing(since=cursor)
    if trial.settings.original:
        must_equal(own.ids, [], "delta since the own cursor")
    must_be_quiet(everything.by_id(), own.records)
    for altered in (cursor + b"!", b"~" + cursor, cursor + b"\x00\xff"):
        found = await trial.listing(since=altered)
        must(set(found.ids) == ids, f"the altered cursor {altered!r} must give the full list")
    flipped = cursor[:-1] + bytes([cursor[-1] ^ 1])
    must(set((await trial.listing(since=flipped)).ids) <= ids, "a flipped bit gave new machines")
