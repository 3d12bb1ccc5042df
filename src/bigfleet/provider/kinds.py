"""The four mutations: where each starts, what it passes through, where it lands."""

from enum import StrEnum

from bigfleet.model.machines import MachineState as S


class Kind(StrEnum):
    CREATE = "create"
    CONFIGURE = "configure"
    DRAIN = "drain"
    DELETE = "delete"

    @property
    def source(self) -> S:
        return _EDGES[self][0]

    @property
    def passing(self) -> S:
        """The transitional state while the work runs."""
        return _EDGES[self][1]

    @property
    def target(self) -> S:
        return _EDGES[self][2]


_EDGES: dict[Kind, tuple[S, S, S]] = {
    Kind.CREATE: (S.SPECULATIVE, S.CREATING, S.IDLE),
    Kind.CONFIGURE: (S.IDLE, S.CONFIGURING, S.CONFIGURED),
    Kind.DRAIN: (S.CONFIGURED, S.DRAINING, S.IDLE),
    Kind.DELETE: (S.IDLE, S.DELETING, S.SPECULATIVE),
}
_BY_PASSING = {kind.passing: kind for kind in Kind}


def kind_passing(state: S) -> Kind | None:
    """The mutation under way in `state`, None where a machine rests."""
    return _BY_PASSING.get(state)
