"""When a node is Ready: asked of the host's hook, told by its agent, or seen in its cluster.

Each waits for ever; the server has the deadline.
"""

from dataclasses import dataclass

from bigfleet.edge.clock import Clock
from bigfleet.provider.backend import HostGone
from bigfleet.provider.blocks.agents import AgentLongPoll
from bigfleet.provider.blocks.hooks import HOST_GONE, Channel, Ended, polled


@dataclass(frozen=True, slots=True)
class HookExit:
    """Ready when the hook's `ready` ends with 0; another exit means not yet."""

    clock: Clock

    async def wait(self, channel: Channel, *, token: str) -> None:
        async def asked() -> Ended | None:
            ended = await channel.run(("ready", token), b"", token)
            if ended.exit_code == HOST_GONE:
                raise HostGone(ended.words or "the hook says that the host is gone")
            return ended if ended.exit_code == 0 else None

        await polled(asked, self.clock)


@dataclass(frozen=True, slots=True)
class AgentReport:
    """Ready when the machine's agent has said so."""

    agents: AgentLongPoll

    async def wait(self, cluster_id: str, *, machine_id: str) -> None:
        await self.agents.wait_ready(machine_id, cluster_id)
