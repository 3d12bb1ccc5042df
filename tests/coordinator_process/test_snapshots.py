"""A snapshot holds everything, says what it is, and comes back only whole."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.coordinator.driving.duties import KEPT, LATEST, SnapshotFolder
from bigfleet.coordinator.keys import UnreadableRow, tables_of
from bigfleet.coordinator.snapshots import (
    copied,
    export,
    file_bytes,
    holds_anything,
    imported,
    snapshot_of,
)
from bigfleet.coordinator.tables import (
    ClusterRow,
    DomainRow,
    InstructionRow,
    OverrideRow,
    SeqRow,
    ShardRow,
    Tables,
    TermRow,
    TransferRow,
    sequence_key,
)
from bigfleet.model.coordination import Transfer, TransferState, TransferTier
from bigfleet.model.coordinator_calls import CoordinatorInstruction, InstructionKind
from bigfleet.model.errors import BadInput
from bigfleet.wire.coordinator_handlers import Snapshot

AT = 1_700_000_000_000_000_000


def filled() -> Tables:
    tables = Tables()
    tables.term.apply((), TermRow(7))
    tables.seq.apply((), SeqRow(next=9, revision=4))
    tables.shards.apply(("shard-0",), ShardRow("shard-0", "h:7780", 3, AT, ("p:9000",)))
    tables.clusters.apply(("shop",), ClusterRow("shop", "shard-0", AT))
    for value in ("a", "b/c", "\u00e4"):
        tables.domains.apply(("zone", value), DomainRow("zone", value, "shard-0"))
    told = CoordinatorInstruction("dom-1/assign", InstructionKind.ASSIGN_DOMAIN, sequence=8)
    tables.instructions.apply(("shard-0", sequence_key(8)), InstructionRow("shard-0", 8, told, AT))
    tables.overrides.apply(("m-1",), OverrideRow("m-1", "s", "shard-0", "5", "p:9000", AT))
    moved = Transfer("5", TransferTier.IDLE, "shard-0", "s", TransferState.DONE, ("m-1",))
    tables.transfers.apply(("5",), TransferRow(moved, "p:9000"))
    return tables


def made(tables: Tables | None = None) -> Snapshot:
    return export(tables or filled(), 42, "sqlite", AT)


def rows_of(tables: Tables) -> dict[str, object]:
    return {table.name: table.rows for table in tables}


def test_what_was_saved_comes_back_with_a_term_ahead_and_has_to_be_agreed_upon() -> None:
    back = tables_of(imported(made()))
    assert back.term.get() == TermRow(1007)
    assert back.seq.get() == SeqRow(next=9, revision=4, merging=True)
    kept = filled()
    kept.term.apply((), TermRow(1007))
    kept.seq.apply((), SeqRow(9, 4, True))
    assert rows_of(back) == rows_of(kept)


def test_a_snapshot_says_what_it_is() -> None:
    meta = made().meta
    assert (meta.index, meta.term, meta.version, meta.backend) == (42, 7, 1, "sqlite")
    assert (meta.size, meta.created_unix_nanos) == (len(made().data), AT)


def test_equal_states_with_different_histories_are_equal_bytes() -> None:
    other = filled()
    row = other.domains.rows["zone", "a"]
    other.domains.apply(("zone", "a"), None)
    other.domains.apply(("zone", "a"), row)
    assert list(other.domains.rows) != list(filled().domains.rows)
    assert made(other).data == made().data
    assert msgspec.json.decode(made().data)["version"] == 1


def test_a_copy_does_not_change_with_its_original() -> None:
    tables = filled()
    copy = copied(tables)
    tables.domains.apply(("zone", "a"), None)
    assert export(copy, 42, "sqlite", AT) == made()


def test_a_store_without_a_shard_holds_nothing() -> None:
    tables = Tables()
    tables.term.apply((), TermRow(1))
    assert not holds_anything(tables)
    assert holds_anything(filled())


def test_a_file_is_read_as_it_was_written() -> None:
    assert snapshot_of(file_bytes(made())) == made()
    assert file_bytes(made()).count(b"\n") == 2


@given(st.data())
def test_a_file_that_was_cut_or_changed_anywhere_is_refused(choice: st.DataObject) -> None:
    whole = file_bytes(made())
    place = choice.draw(st.integers(0, len(whole) - 2))
    cut = choice.draw(st.booleans())
    flipped = bytes([whole[place] ^ 1])
    damaged = whole[:place] if cut else whole[:place] + flipped + whole[place + 1 :]
    try:
        read = snapshot_of(damaged)
    except BadInput:
        return
    # What is not protected by the checksum says only when and where it was made.
    harmless = ("id", "index", "term", "backend", "created_unix_nanos")
    same = {name: getattr(made().meta, name) for name in harmless}
    if replace(read, meta=replace(read.meta, **same)) != made():
        with pytest.raises(BadInput):
            imported(read)


def test_a_snapshot_of_another_version_names_the_way_out() -> None:
    later = replace(made(), meta=replace(made().meta, version=2))
    with pytest.raises(BadInput, match="of version 2, this program knows 1"):
        imported(later)


def test_a_snapshot_with_an_unknown_table_is_refused() -> None:
    content = b'{"rows":{"moons/io":{"schema":1}},"version":1}'
    empty = export(Tables(), 1, "etcd", AT)
    meta = replace(empty.meta, size=len(content), sha256=sha256(content).hexdigest())
    with pytest.raises(BadInput, match="knows no table moons"):
        imported(Snapshot(meta, content))


def test_a_row_under_the_name_of_another_is_refused() -> None:
    content = made().data.replace(b'"domains/zone/a":', b'"domains/zone/x":')
    meta = replace(made().meta, size=len(content), sha256=sha256(content).hexdigest())
    with pytest.raises(BadInput, match="row domains/zone/x says that it is another"):
        imported(Snapshot(meta, content))


def test_the_term_after_a_snapshot_is_far_ahead_of_the_one_it_names() -> None:
    tables = filled()
    tables.term.apply((), TermRow(-5000))
    odd = made(tables)
    back = tables_of(imported(replace(odd, meta=replace(odd.meta, term=-5000))))
    assert back.term.get() == TermRow(1000)


# -- the folder ------------------------------------------------------------------------------------


def test_the_folder_links_to_the_latest_and_keeps_a_few(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path / "snapshots", "node-1")
    for number in range(KEPT + 3):
        folder.write(export(filled(), number, "sqlite", AT + number))
    files = sorted((tmp_path / "snapshots").glob("*.snapshot"))
    assert len(files) == KEPT
    latest = tmp_path / "snapshots" / LATEST
    assert latest.resolve() == files[-1]
    assert snapshot_of(latest.read_bytes()).meta.index == KEPT + 2
    assert {path.name for path in (tmp_path / "snapshots").iterdir()} == {
        LATEST,
        *(path.name for path in files),
    }


def test_a_snapshot_that_cannot_be_written_leaves_the_latest_as_it_is(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path, "node-1")
    folder.write(made())
    (tmp_path / ".node-1.new").mkdir()
    with pytest.raises(OSError, match="directory"):
        folder.write(export(filled(), 43, "sqlite", AT + 1))
    assert snapshot_of((tmp_path / LATEST).read_bytes()) == made()


# -- reading ---------------------------------------------------------------------------------------


def test_tables_that_were_read_answer_like_tables_that_were_written() -> None:
    written = filled()
    read = tables_of({key: bytes(value) for key, value in _document()["rows"].items()})
    for table in written:
        again = read.named(table.name)
        assert again is not None
        assert (again.rows, again.by_first, again.counts) == (
            table.rows,
            table.by_first,
            table.counts,
        )


def _document() -> dict[str, dict[str, msgspec.Raw]]:
    return msgspec.json.decode(
        made().data.replace(b',"version":1', b""), type=dict[str, dict[str, msgspec.Raw]]
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b'{"schema":2,"term":1}', "has schema 2, this version knows 1"),
        (b'{"schema":12,"term":1}', "has schema 12"),
        (b'{"term":1}', "cannot be read"),
        (b'{"schema":1,"term":"seven"}', "cannot be read"),
        (b'{"schema":1,', "cannot be read"),
    ],
    ids=["a later one", "one that begins alike", "none", "another type", "cut off"],
)
def test_a_row_that_cannot_be_read_is_named(row: bytes, said: str) -> None:
    with pytest.raises(UnreadableRow, match=r"row term .*restore a snapshot") as told:
        tables_of({"term": row})
    assert said in str(told.value)
