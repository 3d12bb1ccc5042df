"""An error of the Backend at the start becomes one clear refusal, and everything is closed."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.model.errors import StartRefused
from bigfleet.provider import Permanent, SQLiteStore
from bigfleet.provider.backend import Inventory, OpenContext
from bigfleet.provider.testing import FakeSubstrate
from tests.provider.rig import Told, running

HERE = "tests.provider.serving.test_a_start_that_cannot_be"


class Unauthorised(FakeSubstrate):
    async def open(self, ctx: OpenContext) -> None:
        raise Permanent("the token is expired")


class Misconfigured(FakeSubstrate):
    async def open(self, ctx: OpenContext) -> None:
        raise ValueError("region 'nowhere' is unknown")

    async def close(self) -> None:
        raise AttributeError("no client to close")


class Buggy(FakeSubstrate):
    async def open(self, ctx: OpenContext) -> None:
        raise KeyError("client")


class Unreachable(FakeSubstrate):
    async def describe(self) -> Inventory:
        raise ConnectionError("the API does not answer")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Unauthorised, "Unauthorised could not be opened: the token is expired; check"),
        (Misconfigured, "Misconfigured could not be opened: region 'nowhere' is unknown; check"),
        (Buggy, "Buggy could not be opened: KeyError: 'client' (a fault in the Backend)"),
        (Unreachable, "Unreachable could not describe its substrate: the API does not answer"),
    ],
)
def test_the_command_says_it_in_one_line_and_leaves_with_2(
    kind: type[FakeSubstrate], text: str
) -> None:
    arguments = ["provider", "run", f"{HERE}:{kind.__name__}", "--addr=127.0.0.1:0"]
    result = CliRunner().invoke(cli, [*arguments, "--metrics-addr="])
    assert (result.exit_code, type(result.exception)) == (2, SystemExit)
    said = [line for line in result.stderr.splitlines() if not line.startswith("{")]
    assert len(said) == 1
    assert said[0].startswith(text)


async def test_only_a_fault_of_the_backend_is_logged_with_its_traceback() -> None:
    for kind, logged in ((Unauthorised, False), (Buggy, True)):
        log = Told()
        with pytest.raises(StartRefused):
            async with running(substrate=kind(), log=log):
                pass
        assert ("backend.broken" in log.lines) is logged


async def test_a_refused_start_gives_the_state_file_back(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(StartRefused, match="expired"):
            async with running(
                substrate=Unauthorised(), store=SQLiteStore(tmp_path / "state.db", "inc")
            ):
                pass
