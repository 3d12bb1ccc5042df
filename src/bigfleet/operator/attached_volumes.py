"""Which volumes are attached to which Node: VolumeAttachments, by the Node they name.

A cache that was never filled has none, so an operator without the right to read them does not wait
for them.
"""

from bigfleet.kube.objects import VolumeAttachment


def node_of_attachment(attachment: VolumeAttachment) -> str | None:
    """What is kept of one; None: nothing."""
    return attachment.spec.node_name or None


class AttachedVolumes:
    def __init__(self) -> None:
        #: By Node, names of VolumeAttachments; of no Node without one.
        self._on_node: dict[str, set[str]] = {}

    def put(self, name: str, node: str) -> None:
        self._on_node.setdefault(node, set()).add(name)

    def remove(self, name: str, node: str) -> None:
        names = self._on_node.get(node, set())
        names.discard(name)
        if not names:
            self._on_node.pop(node, None)

    def count_on(self, node: str) -> int:
        return len(self._on_node.get(node, ()))
