"""Pages over a fleet: every machine once, every later change after it, also while machines move."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import ListCall
from bigfleet.provider.ledger.entries import Entry, seeded
from bigfleet.provider.ledger.published import Cursor, Delta, Published, PublishedMachines, Walk
from bigfleet.provider.testing import slots

STATES = [MachineState.SPECULATIVE, MachineState.IDLE, MachineState.FAILED]


class Shelf:
    """Published machines whose chunk is their id and revision."""

    def __init__(self, count: int) -> None:
        self.machines = PublishedMachines()
        for number, instance in enumerate(slots(count)):
            self._publish(seeded(instance, "fake", number))

    def _publish(self, entry: Entry) -> None:
        entry = replace(entry, revision=self.machines.head + 1)
        chunk = f"{entry.id}@{entry.revision}".encode()
        self.machines.publish(Published(entry, chunk))

    def move(self, number: int, state: MachineState) -> None:
        entry = self.machines.entry(f"m-{number}")
        assert entry is not None
        self._publish(replace(entry, record=replace(entry.record, state=state)))

    def retire(self, number: int) -> None:
        self.machines.retire(f"m-{number}", self.machines.head + 1)

    def page(
        self, *states: MachineState, cap: int = 0, cursor: Cursor | None = None
    ) -> tuple[list[str], Cursor]:
        page = self.machines.page(ListCall(states, cap), cursor)
        return [chunk.decode() for chunk in page.chunks if chunk], page.cursor

    def ids(
        self, *states: MachineState, cap: int = 0, cursor: Cursor | None = None
    ) -> tuple[list[str], Cursor]:
        chunks, cursor = self.page(*states, cap=cap, cursor=cursor)
        return [chunk.partition("@")[0] for chunk in chunks], cursor


@given(st.integers(0, 30), st.integers(1, 9), st.integers(0, 40))
def test_a_quiet_walk_shows_every_machine_once(count: int, cap: int, before: int) -> None:
    shelf = Shelf(count)
    shelf.ids(cap=before or 1)
    seen, cursor = shelf.ids(cap=cap)
    while isinstance(cursor, Walk):
        more, cursor = shelf.ids(cap=cap, cursor=cursor)
        assert 0 < len(more) <= cap
        seen += more
    assert sorted(seen) == sorted(f"m-{n}" for n in range(count))
    assert cursor == Delta(shelf.machines.head)


@given(
    st.integers(1, 20),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 19), st.sampled_from(STATES)), max_size=12),
)
def test_a_walk_and_its_delta_end_with_the_newest_of_every_machine(
    count: int, cap: int, moves: list[tuple[int, MachineState]]
) -> None:
    shelf = Shelf(count)
    newest: dict[str, str] = {}
    chunks, cursor = shelf.page(cap=cap)
    while True:
        newest |= {chunk.partition("@")[0]: chunk for chunk in chunks}
        if cursor == Delta(shelf.machines.head) and not moves:
            break
        if moves:
            number, state = moves.pop()
            shelf.move(number % count, state)
        chunks, cursor = shelf.page(cap=cap, cursor=cursor)
    assert sorted(newest.values()) == sorted(shelf.page()[0])


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(0, 12), st.integers(1, 4))
def test_a_delta_is_what_changed_since_oldest_first(moves: list[int], since: int, cap: int) -> None:
    shelf = Shelf(10)
    for number in moves:
        shelf.move(number, MachineState.IDLE)
    start = min(10 + since, shelf.machines.head)
    whole, cursor = shelf.page(cursor=Delta(start))
    assert cursor == Delta(shelf.machines.head)
    assert [int(c.partition("@")[2]) for c in whole] == sorted(
        r for r in range(start + 1, shelf.machines.head + 1) if r in current_revisions(shelf)
    )
    paged: list[str] = []
    cursor = Delta(start)
    while True:
        chunks, cursor = shelf.page(cap=cap, cursor=cursor)
        paged += chunks
        if cursor == Delta(shelf.machines.head):
            break
    assert paged == whole


def current_revisions(shelf: Shelf) -> set[int]:
    return {entry.revision for entry in shelf.machines.entries()}


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(STATES)), max_size=20))
def test_a_filter_gives_exactly_the_union(moves: list[tuple[int, MachineState]]) -> None:
    shelf = Shelf(10)
    for number, state in moves:
        shelf.move(number, state)
    wanted = {MachineState.IDLE, MachineState.FAILED}
    expected = sorted(e.id for e in shelf.machines.entries() if e.state in wanted)
    assert sorted(shelf.ids(*wanted)[0]) == expected


def test_consecutive_capped_reads_give_different_machines() -> None:
    shelf = Shelf(3)
    assert [shelf.ids(cap=1)[0] for _ in range(4)] == [["m-0"], ["m-1"], ["m-2"], ["m-0"]]


def test_a_cursor_from_the_future_gives_everything() -> None:
    shelf = Shelf(3)
    ids, cursor = shelf.ids(cursor=Delta(99))
    assert (len(ids), cursor) == (3, Delta(3))


def test_a_retired_machine_is_in_no_answer_and_moves_the_head() -> None:
    shelf = Shelf(3)
    shelf.retire(1)
    assert shelf.ids()[0] == ["m-0", "m-2"]
    assert shelf.ids(cap=5)[0] == ["m-0", "m-2"]
    assert shelf.ids(cursor=Delta(0))[0] == ["m-0", "m-2"]
    assert shelf.machines.head == 4


def test_many_changes_of_one_machine_do_not_pile_up() -> None:
    shelf = Shelf(2)
    for _ in range(5000):
        shelf.move(0, MachineState.IDLE)
    assert len(shelf.machines._changed_at) < 2000
    assert shelf.ids(cursor=Delta(2))[0] == ["m-0"]
