"""Bootstrap tokens, made in the cluster when a machine asks and swept when their life is over.

A create whose answer is lost is not repeated: another token is made, and the lost one is remembered
until it has expired. Tokens of an earlier process are found by their label, where the operator may
list Secrets; where it may not, the cluster's own token cleaner has to do.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import AlreadyExists, ApiProblem, NotFound, Refused, Unreachable
from bigfleet.kube.api import Api
from bigfleet.kube.kinds import SECRETS
from bigfleet.kube.names import MADE_BY
from bigfleet.model.machines import Instant
from bigfleet.operator.bootstrap.tokens import (
    MAKER,
    NAMESPACE,
    BootstrapToken,
    is_expired,
    new_token,
    secret_body,
)

SWEEP_SECONDS = 300.0
_MOST_TRIES = 3


class Line(Protocol):
    @property
    def connected(self) -> bool:
        """Whether a session with the shard is open."""
        ...


class BootstrapTokens:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        log: Log,
        *,
        cluster_id: str,
        ttl_seconds: float = 900.0,
        prefix: str = "",
    ) -> None:
        self._api = api
        self._clock = clock
        self._random_bytes = random_bytes
        self._log = log
        self._cluster_id = cluster_id
        self._ttl_seconds = ttl_seconds
        self._prefix = prefix
        self._newest: BootstrapToken | None = None
        #: Names and ends of the Secrets this process made or may have made.
        self._made: dict[str, Instant] = {}
        #: All callers that ask meanwhile get its token, or its problem.
        self._minting: asyncio.Task[BootstrapToken] | None = None
        self._may_list = True

    async def token(self) -> BootstrapToken:
        """One that is good for more than half of a token's life. Raises an ApiProblem."""
        newest = self._newest
        if newest is not None and newest.is_fresh(self._clock.now()):
            return newest
        if self._minting is None:
            self._minting = asyncio.create_task(self._mint())
            self._minting.add_done_callback(self._minted)
        return await asyncio.shield(self._minting)

    async def sweep(self) -> None:
        """Deletes what has expired; what cannot be deleted now is tried at the next sweep."""
        now = self._clock.now()
        names = {name for name, expires in self._made.items() if expires <= now}
        names |= await self._expired_of_others(now)
        for name in sorted(names):
            if await self._is_deleted(name):
                self._made.pop(name, None)

    async def keep_swept(self, line: Line) -> None:
        """For ever; nothing in the cluster changes while no session is open."""
        while True:
            if line.connected:
                await self.sweep()
            await self._clock.sleep(SWEEP_SECONDS)

    def _minted(self, minting: asyncio.Task[BootstrapToken]) -> None:
        self._minting = None
        if not minting.cancelled() and minting.exception() is None:
            self._newest = minting.result()

    async def _is_deleted(self, name: str) -> bool:
        try:
            await self._api.delete(SECRETS, name, NAMESPACE)
        except NotFound:
            return True
        except ApiProblem as problem:
            self._log.warning("tokens.not_swept", msg=problem.text, secret=name)
            return False
        return True

    async def _mint(self) -> BootstrapToken:
        for left in reversed(range(_MOST_TRIES)):
            now = self._clock.now()
            token = new_token(self._random_bytes, now, self._ttl_seconds, self._prefix)
            self._made[token.object_name] = token.expires_at
            try:
                await self._api.create(SECRETS, secret_body(token, self._cluster_id), NAMESPACE)
            except AlreadyExists:
                # Another owner's token: not ours to sweep.
                del self._made[token.object_name]
                if not left:
                    raise
            except Unreachable:
                if not left:
                    raise
            else:
                self._log.info(
                    "tokens.made",
                    msg=f"made bootstrap token {token.id}",
                    token_id=token.id,
                    ttl_seconds=token.seconds_left(self._clock.now()),
                )
                return token
        raise AssertionError("the last try returns or raises")

    async def _expired_of_others(self, now: Instant) -> set[str]:
        found: set[str] = set()
        continue_token = ""
        while self._may_list:
            try:
                page = await self._api.list_page(
                    SECRETS,
                    NAMESPACE,
                    label_selector=f"{MADE_BY}={MAKER}",
                    continue_token=continue_token,
                )
            except Refused as problem:
                self._may_list = False
                self._log.info(
                    "tokens.cannot_list",
                    msg=f"only this process's own expired tokens are swept: {problem.text}",
                )
                break
            except ApiProblem as problem:
                self._log.warning("tokens.not_listed", msg=problem.text)
                break
            found |= {each.metadata.name for each in page.items if is_expired(each, now)}
            continue_token = page.continue_token
            if not continue_token:
                break
        return found
