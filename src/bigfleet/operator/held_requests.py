"""What is kept of each CapacityRequest: a cluster has tens of thousands, and few kinds of them.

Equal specs are kept once, and nothing of the page a request came in.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.kube.names import OWNED_BY_BUFFER, OWNED_BY_POD, OWNED_BY_PROVISIONING_REQUEST
from bigfleet.kube.objects import CapacityRequest
from bigfleet.model.cluster_reports import DemandSource

#: Specs remembered as seen before; a full memory starts anew.
_MEMORY = 100_000


@dataclass(frozen=True, slots=True)
class HeldRequest:
    uid: str
    #: JSON as the server has it.
    spec: bytes
    phase: str
    #: UID of the pod it was made for; empty where podwatch did not make it.
    pod_uid: str
    source: DemandSource = DemandSource.POD


class HeldRequests:
    """`narrow` is what a Reflector of CapacityRequests takes."""

    def __init__(self) -> None:
        self._specs: dict[bytes, bytes] = {}

    def narrow(self, request: CapacityRequest) -> HeldRequest:
        spec = bytes(request.spec)
        known = self._specs.get(spec)
        if known is None:
            if len(self._specs) >= _MEMORY:
                self._specs.clear()
            known = self._specs[spec] = spec
        meta = request.metadata
        pod = meta.labels.get(OWNED_BY_POD, "")
        return HeldRequest(meta.uid, known, request.status.phase, pod, _source(meta.labels))


def _source(labels: Mapping[str, str]) -> DemandSource:
    if OWNED_BY_BUFFER in labels:
        return DemandSource.BUFFER
    if OWNED_BY_PROVISIONING_REQUEST in labels:
        return DemandSource.PROVISIONING_REQUEST
    return DemandSource.POD
