"""What goes wrong on the way to an API server is a problem of that call alone."""

from collections.abc import Generator

import httpx2
import pytest

from bigfleet.edge.clock import ManualClock
from bigfleet.kube.answers import Refused, Unreachable
from bigfleet.kube.api import Api
from bigfleet.kube.calls import Calls
from bigfleet.kube.kinds import NODES


class UnreadableToken(httpx2.Auth):
    """As while a mounted token is exchanged."""

    is_readable = False

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        if not self.is_readable:
            raise PermissionError(13, "Permission denied", "token")
        yield request


def _api(body: bytes = b"{}", auth: httpx2.Auth | None = None) -> Api:
    transport = httpx2.MockTransport(lambda _request: httpx2.Response(200, content=body))
    client = httpx2.AsyncClient(base_url="http://api", transport=transport, auth=auth)
    return Api(client, ManualClock(), lambda: 0.5, deadline_seconds=0.01)


async def test_a_token_that_cannot_be_read_just_now_is_a_lost_call() -> None:
    async with _api(auth=UnreadableToken()) as api:
        calls: Calls = api
        with pytest.raises(Unreachable, match="Permission denied"):
            await calls.get(NODES, "n-1")
        with pytest.raises(Unreachable, match="Permission denied"):
            await anext(api.watch(NODES, resource_version="1", timeout_seconds=1))


async def test_bytes_that_are_no_text_are_an_answer_that_cannot_be_read() -> None:
    async with _api(b'{"metadata":{"name":"\xff\xfe"}}') as api:
        with pytest.raises(Refused, match="cannot be read"):
            await api.get(NODES, "n-1")
    async with _api(b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n') as api:
        with pytest.raises(Refused, match="cannot be read"):
            await anext(api.watch(NODES, resource_version="1", timeout_seconds=1))
