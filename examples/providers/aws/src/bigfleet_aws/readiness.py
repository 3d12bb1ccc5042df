"""When a node counts as Ready: asked of the host itself, or of code that an operator plugs in."""

import importlib
from typing import Protocol

from bigfleet.provider import Operation, Permanent
from bigfleet_aws.settings import Ec2Config


class Readiness(Protocol):
    async def wait(self, op: Operation) -> None:
        """Returns when the node of `op.machine` is Ready in `op.cluster_id`; never sooner."""


def plugged_in(target: str, cfg: Ec2Config) -> Readiness:
    """`MODULE:CALLABLE`, called with the settings, makes the Readiness."""
    module_name, _, name = target.partition(":")
    try:
        made = getattr(importlib.import_module(module_name), name)(cfg)
    except (ImportError, AttributeError) as error:
        raise Permanent(f"readiness={target}: {error}") from error
    if not hasattr(made, "wait"):
        raise Permanent(f"readiness={target}: what it makes has no method wait")
    ready: Readiness = made
    return ready
