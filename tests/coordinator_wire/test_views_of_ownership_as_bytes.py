"""A view is written as protobuf would write it, however much of it was written before."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.ownership import Owners, OwnershipView, Pair
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire.ownership_views import ViewWriter, override_message, view_of
from bigfleet.wire.shard_syncs import sync_reply_bytes
from tests.coordinator_wire import generated, samples


def plainly(view: OwnershipView) -> pb.OwnershipView:
    """The message, field by field."""
    return pb.OwnershipView(
        revision=view.revision,
        partition_keys=view.keys,
        domains=[
            contract.DomainAssignment(topology_key=key, topology_value=value, shard_id=shard)
            for (key, value), shard in view.domains.items()
        ],
        overrides=[override_message(each) for each in view.overrides.values()],
        default_owners=[
            pb.DefaultOwner(provider_address=address, shard_id=shard)
            for address, shard in view.default_owners.items()
        ],
    )


@settings(max_examples=100)
@given(st.lists(generated.views, min_size=1, max_size=5))
def test_any_views_one_after_another_are_written_as_protobuf_would(
    views: list[OwnershipView],
) -> None:
    writer = ViewWriter()
    for view in views:
        content = writer.of(view)
        assert content == plainly(view).SerializeToString()
        assert view_of(pb.OwnershipView.FromString(content)) == view


def test_an_answer_with_a_view_is_written_as_protobuf_would() -> None:
    content = sync_reply_bytes(samples.SYNCED, ViewWriter())
    message = pb.SyncShardResponse.FromString(content)
    assert message.ownership == plainly(samples.VIEW)
    assert message.SerializeToString(deterministic=True) == content


def test_the_next_shard_gets_the_very_same_bytes_of_the_domains() -> None:
    writer = ViewWriter()
    first = writer.parts(samples.VIEW)[1]
    other = replace(samples.VIEW, revision=9, overrides={}, default_owners={})
    assert writer.parts(other)[1] is first


def domains(count: int) -> Owners:
    return Owners(((samples.ZONE, f"z-{n}"), f"shard-{n % 3}") for n in range(count))


def view_with(owners: Owners) -> OwnershipView:
    return OwnershipView(1, owners, keys=(samples.ZONE,))


pairs = st.tuples(st.just(samples.ZONE), st.sampled_from([f"z-{n}" for n in range(12)]))
changes = st.dictionaries(pairs, st.none() | st.sampled_from(["", "shard-8", "shard-9"]))


@given(st.lists(st.tuples(changes, st.booleans()), max_size=6))
def test_after_any_change_the_next_view_is_written_as_protobuf_would(
    steps: list[tuple[dict[Pair, str | None], bool]],
) -> None:
    writer, owners = ViewWriter(), domains(8)
    writer.of(view_with(owners))
    for rows, is_sent in steps:
        owners = owners.with_changes(rows)
        # A view that was never sent in between is not missed.
        if is_sent:
            view = view_with(owners)
            assert writer.of(view) == plainly(view).SerializeToString()


def test_after_a_change_the_rows_that_did_not_change_are_not_written_again() -> None:
    writer, before = ViewWriter(), domains(50)
    writer.of(view_with(before))
    kept = dict(writer._rows)
    changed: dict[Pair, str | None] = {
        (samples.ZONE, "z-7"): "",
        (samples.ZONE, "new"): "shard-9",
        (samples.ZONE, "z-8"): None,
    }
    view = view_with(before.with_changes(changed))
    assert writer.of(view) == plainly(view).SerializeToString()
    assert {pair for pair, row in writer._rows.items() if kept.get(pair) is not row} == {
        (samples.ZONE, "z-7"),
        (samples.ZONE, "new"),
    }


def test_a_new_writer_writes_all_rows_however_few_have_changed() -> None:
    view = view_with(domains(50).with_changes({(samples.ZONE, "z-7"): ""}))
    assert ViewWriter().of(view) == plainly(view).SerializeToString()


def test_rows_without_a_holder_are_forgotten() -> None:
    writer, many, few = ViewWriter(), domains(50), domains(5)
    writer.of(OwnershipView.of(1, domains=many))
    view = OwnershipView.of(2, domains=few)
    assert writer.of(view) == plainly(view).SerializeToString()
    assert writer._rows.keys() == few.keys()


def test_unlisted_keys_are_asked_last() -> None:
    message = plainly(samples.VIEW)
    message.ClearField("partition_keys")
    message.partition_keys.append(samples.ZONE)
    assert view_of(message).keys == (samples.ZONE, samples.RACK)
