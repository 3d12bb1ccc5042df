"""However requests come and go, rows are those of a book that saw only what is left."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.resources import Resources
from bigfleet.operator.revised_demand import OverheadUnits
from bigfleet.operator.rollup import DemandBook
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.overhead import Overheads
from bigfleet.placement.records import NodeView

KINDS = {"cpu": ("8", "8Gi"), "memory": ("2", "32Gi")}

changes = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.one_of(st.none(), st.tuples(st.integers(1, 9), st.integers(1, 33))),
    ),
    max_size=25,
)


def units() -> OverheadUnits:
    occupancy, overheads = Occupancy(), Overheads()
    for name, (cpu, memory) in KINDS.items():
        shape = Resources.parse({"cpu": cpu, "memory": memory})
        occupancy.put_node(NodeView(name, name, shape, shape, kind=name), 1)
    overheads.look(occupancy, 1)
    found = OverheadUnits(overheads)
    found.look()
    return found


def put(book: DemandBook, number: int, size: tuple[int, int]) -> None:
    resources = {"cpu": str(size[0]), "memory": f"{size[1]}Gi"}
    spec = json.dumps({"resources": resources, "priority": 0}).encode()
    book.put(ObjectKey("ns", f"r{number}"), f"u{number}", spec, "Pending")


@given(changes, st.data())
@settings(deadline=None)
def test_rows_do_not_depend_on_how_requests_came(
    steps: list[tuple[int, tuple[int, int] | None]], data: st.DataObject
) -> None:
    book = DemandBook("shop", units=units())
    left: dict[int, tuple[int, int]] = {}
    for number, size in steps:
        if size is None:
            book.remove(ObjectKey("ns", f"r{number}"))
            left.pop(number, None)
        else:
            put(book, number, size)
            left[number] = size
        if data.draw(st.booleans()):
            book.rows()
    fresh = DemandBook("shop", units=units())
    for number, size in left.items():
        put(fresh, number, size)
    assert list(book.rows()) == list(fresh.rows())
    assert sum(n.aggregate["cpu"] for n in book.needs()) == 1000 * sum(c for c, _ in left.values())
    keys = {need.key for need in book.needs()}
    assert {book.need_of(ObjectKey("ns", f"r{number}")) for number in left} == keys
