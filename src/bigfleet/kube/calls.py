"""What may be asked of an API server, as a contract: the real one is `kube.api.Api`."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

import msgspec

from bigfleet.kube.answers import ObjectPage
from bigfleet.kube.kinds import Kind
from bigfleet.kube.objects import Pod

T = TypeVar("T", bound=msgspec.Struct)

#: JSON of an object or a merge patch; None in a patch removes a field.
Body = Mapping[str, object]


class Calls(Protocol):
    """Each raises an ApiProblem; each has a deadline of its own and is paced by qps and burst."""

    async def get(self, kind: Kind[T], name: str, namespace: str = "") -> T: ...

    async def list_page(
        self, kind: Kind[T], namespace: str = "", *, field_selector: str = "", limit: int = 500
    ) -> ObjectPage[T]:
        """What the cluster has now, not what it had lately. `limit` 0 is everything at once."""
        ...

    async def create(self, kind: Kind[T], body: Body, namespace: str = "") -> T:
        """`apiVersion` and `kind` are filled in."""
        ...

    async def replace(self, kind: Kind[T], name: str, body: Body, namespace: str = "") -> T:
        """A PUT; with metadata.resourceVersion in the body it is a compare-and-swap."""
        ...

    async def merge_patch(
        self, kind: Kind[T], name: str, patch: Body, namespace: str = "", *, subresource: str = ""
    ) -> T:
        """Without a resourceVersion in the patch it never conflicts."""
        ...

    async def delete(self, kind: Kind[T], name: str, namespace: str = "", *, uid: str = "") -> None:
        """`uid` as a precondition: another object of the same name stays (Conflict)."""
        ...

    async def evict(self, pod: Pod, grace_seconds: int | None = None) -> None:
        """policy/v1, with the pod's uid as precondition. TooMany: a budget does not allow it."""
        ...

    async def serves(self, kind: Kind[T]) -> bool:
        """Whether the cluster knows that kind in that version."""
        ...
