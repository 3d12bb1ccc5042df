"""Why a machine is Failed, and whether it comes back without an administrator."""

from bigfleet.model.machines import MachineState

#: The provider itself calls the machine Failed.
PROVIDER_FAILED = "provider_failed"
#: Another process with this shard's id has acted on the machine.
FENCED = "fenced"
#: Of machines that are not Failed, but lost to their cluster: never joined or without a Node, and
#: with a Node that stays unhealthy.
JOIN, UNHEALTHY = "join", "unhealthy"


def timeout_cause(state: MachineState) -> str:
    return f"timeout_{state.name.lower()}"


def is_automatic(cause: str) -> bool:
    """Whether the machine comes back by itself once its provider shows it healthy."""
    return cause != FENCED
