"""After its pods are gone, a Node is given back when its volumes are detached, or time is short."""

from bigfleet.kube.objects import Meta, VolumeAttachment, VolumeAttachmentSpec
from bigfleet.operator.attached_volumes import AttachedVolumes, node_of_attachment
from tests.operator_draining.stage import ID, Stage, draining, joined, pod_record

DB = pod_record("db-0")


def with_volume(grace: int = 600) -> Stage:
    """The pod is gone and its volume is still attached."""
    stage = joined(DB)
    stage.volumes.put("csi-1", "n-1")
    stage.asks(grace=grace)
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    stage.evict(DB)
    stage.wait(1)
    return stage


def test_an_attached_volume_is_waited_for() -> None:
    stage = with_volume()
    stage.wait(120)
    assert (stage.acks(), stage.checked) == ([], [])
    stage.detaches("csi-1")
    assert stage.acks() == [(ID, 1)]


def test_every_volume_is_waited_for() -> None:
    stage = with_volume()
    stage.volumes.put("csi-2", "n-1")
    stage.detaches("csi-1")
    assert stage.acks() == []
    stage.detaches("csi-2")
    assert stage.acks() == [(ID, 1)]


def test_volumes_of_other_nodes_are_not() -> None:
    stage = draining(DB)
    stage.volumes.put("csi-9", "n-9")
    stage.evict(DB)
    stage.wait(1)
    assert stage.acks() == [(ID, 1)]


def test_a_volume_that_stays_is_given_up_before_the_shard_gives_up_the_machine() -> None:
    stage = with_volume()
    stage.told()
    stage.wait(593)
    assert stage.acks() == []
    stage.wait(1)
    assert stage.acks() == [(ID, 1)]
    (told,) = stage.told()
    assert told.reason == "ReclaimEvicted"
    assert told.message.endswith("; 1 VolumeAttachment is still there")


def test_a_short_grace_leaves_a_tenth_of_it() -> None:
    stage = with_volume(grace=10)
    stage.wait(7.9)
    assert stage.acks() == []
    stage.wait(0.1)
    assert stage.acks() == [(ID, 1)]


def test_a_pod_that_is_left_counts_more_than_its_volume() -> None:
    stage = joined(DB)
    stage.volumes.put("csi-1", "n-1")
    stage.asks()
    stage.answer_cordons()
    stage.wait(600)
    assert stage.acks() == [(ID, 1), (ID, 0)]


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
