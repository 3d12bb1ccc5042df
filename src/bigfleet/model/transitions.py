"""Which state may follow which."""

from bigfleet.model.machines import MachineState as S

_ALLOWED: dict[S, frozenset[S]] = {
    S.UNSPECIFIED: frozenset(),
    S.SPECULATIVE: frozenset({S.CREATING}),
    S.CREATING: frozenset({S.IDLE, S.FAILED}),
    S.IDLE: frozenset({S.CONFIGURING, S.DELETING}),
    S.CONFIGURING: frozenset({S.CONFIGURED, S.FAILED, S.IDLE}),
    S.CONFIGURED: frozenset({S.DRAINING}),
    S.DRAINING: frozenset({S.IDLE, S.FAILED}),
    S.DELETING: frozenset({S.SPECULATIVE, S.FAILED}),
    S.FAILED: frozenset(),
}
_RECOVERY = frozenset({S.IDLE, S.SPECULATIVE})


class InvalidTransition(ValueError):
    """A state change the life of a machine does not know."""


def is_allowed(before: S, after: S, *, recovery: bool = False) -> bool:
    """Staying is always allowed; a Failed machine leaves only through recovery."""
    if before is after or after in _ALLOWED[before]:
        return True
    return recovery and before is S.FAILED and after in _RECOVERY


def check_transition(machine_id: str, before: S, after: S, *, recovery: bool = False) -> None:
    if not is_allowed(before, after, recovery=recovery):
        ways = ", ".join(s.label for s in sorted(_ALLOWED[before])) or "recovery only"
        raise InvalidTransition(
            f"machine {machine_id} cannot go from {before.label} to {after.label}; "
            f"from {before.label} it goes to: {ways}"
        )
