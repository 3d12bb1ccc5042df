"""`bigfleet provider doctor`: what is wrong with a Backend, told without touching anything."""

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.provider import Backend, Inventory, OpenContext, Permanent
from bigfleet.provider.backend import Created, Operation
from bigfleet.provider.testing import FakeSubstrate, slots

HERE = "tests.provider.commands.test_the_doctor"


class Locked(FakeSubstrate):
    async def open(self, ctx: OpenContext) -> None:
        raise Permanent("no token; set token=@file")


class Sick(Backend):
    configure_implies_ready = True

    async def describe(self) -> Inventory:
        bad = slots(1, "Bad_Id")
        return Inventory([*slots(1), *bad, *slots(1, "free", price_per_hour=0)], complete=False)

    async def create(self, op: Operation) -> Created:
        raise AssertionError("the doctor must not create")

    async def configure(self, op: Operation) -> None:
        raise AssertionError("the doctor must not configure")

    async def drain(self, op: Operation) -> None:
        raise AssertionError("the doctor must not drain")


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["provider", "doctor", *arguments])


def test_a_sound_backend_is_told_so() -> None:
    result = doctor("bigfleet.provider.testing:FakeSubstrate", "--seed-count", "9")
    assert result.exit_code == 0, result.output
    assert "ok    describe: 9 machines, 0 of them hosts" in result.output
    assert "ok    capacity: OnDemand 6, Spot 3" in result.output


def test_missing_credentials_end_the_examination() -> None:
    result = doctor(f"{HERE}:Locked")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == "WRONG open: no token; set token=@file"


def test_every_wrong_thing_is_named() -> None:
    result = doctor(f"{HERE}:Sick")
    wrong = [line for line in result.output.splitlines() if line.startswith("WRONG")]
    assert [line.split()[1] for line in wrong] == ["complete:", "Bad_Id-0:", "prices:"]
