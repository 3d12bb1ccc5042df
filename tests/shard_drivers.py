"""Stand in for the process around a shard's state."""

from bigfleet.model.provider_calls import Code
from bigfleet.shard.instructions import CallProvider


class IdleDriver:
    """Does nothing of what the state asks for; tests override what they look at."""

    @property
    def providers(self) -> "IdleDriver":
        return self

    @property
    def sessions(self) -> "IdleDriver":
        return self

    @property
    def cycles(self) -> "IdleDriver":
        return self

    def call(self, asked: CallProvider) -> None: ...

    def flush(self, session: int) -> None: ...

    def wake(self) -> None: ...

    def end_session(self, session: int, code: Code, text: str) -> None: ...

    def attach_provider(self, name: str, address: str) -> None: ...
