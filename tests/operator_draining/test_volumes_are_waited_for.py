"""After its pods are gone, a Node is given back when its volumes are detached, or time is short."""

from bigfleet.kube.objects import Meta, VolumeAttachment, VolumeAttachmentSpec
from bigfleet.operator.pods_on_nodes import AttachedVolumes, node_of_attachment
from tests.operator_draining.rig import ID, Rig, draining, joined, pod_record

DB = pod_record("db-0")


def with_volume(grace: int = 600) -> Rig:
    """The pod is gone and its volume is still attached."""
    rig = joined(DB)
    rig.volumes.put("csi-1", "n-1")
    rig.asks(grace=grace)
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    rig.evict(DB)
    rig.wait(1)
    return rig


def test_an_attached_volume_is_waited_for() -> None:
    rig = with_volume()
    rig.wait(120)
    assert (rig.acks(), rig.checked) == ([], [])
    rig.detaches("csi-1")
    assert rig.acks() == [(ID, 1)]


def test_every_volume_is_waited_for() -> None:
    rig = with_volume()
    rig.volumes.put("csi-2", "n-1")
    rig.detaches("csi-1")
    assert rig.acks() == []
    rig.detaches("csi-2")
    assert rig.acks() == [(ID, 1)]


def test_volumes_of_other_nodes_are_not() -> None:
    rig = draining(DB)
    rig.volumes.put("csi-9", "n-9")
    rig.evict(DB)
    rig.wait(1)
    assert rig.acks() == [(ID, 1)]


def test_a_volume_that_stays_is_given_up_before_the_shard_gives_up_the_machine() -> None:
    rig = with_volume()
    rig.told()
    rig.wait(593)
    assert rig.acks() == []
    rig.wait(1)
    assert rig.acks() == [(ID, 1)]
    (told,) = rig.told()
    assert told.reason == "ReclaimEvicted"
    assert told.message.endswith("; 1 VolumeAttachment is still there")


def test_a_short_grace_leaves_a_tenth_of_it() -> None:
    rig = with_volume(grace=10)
    rig.wait(7.9)
    assert rig.acks() == []
    rig.wait(0.1)
    assert rig.acks() == [(ID, 1)]


def test_a_pod_that_is_left_counts_more_than_its_volume() -> None:
    rig = joined(DB)
    rig.volumes.put("csi-1", "n-1")
    rig.asks()
    rig.answer_cordons()
    rig.wait(600)
    assert rig.acks() == [(ID, 1), (ID, 0)]


def test_attachments_are_known_by_the_node_they_name() -> None:
    spec = VolumeAttachmentSpec(node_name="n-1")
    attachment = VolumeAttachment(metadata=Meta(name="csi-1"), spec=spec)
    assert node_of_attachment(attachment) == "n-1"
    assert node_of_attachment(VolumeAttachment(metadata=Meta(name="csi-2"))) is None
    volumes = AttachedVolumes()
    volumes.put("csi-1", "n-1")
    volumes.remove("csi-1", "n-1")
    volumes.remove("csi-1", "n-1")
    assert volumes.count_on("n-1") == 0
