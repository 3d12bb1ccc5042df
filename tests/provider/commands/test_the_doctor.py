"""`bigfleet provider doctor`: what is wrong with a Backend, told without touching anything."""

from pathlib import Path

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider import (
    GONE,
    Backend,
    Created,
    Host,
    HostStatus,
    Inventory,
    Kind,
    OpenContext,
    Operation,
    Permanent,
    QuotaExceeded,
)
from bigfleet.provider.doctor import why_not_trusted
from bigfleet.provider.testing import FakeSubstrate, slots
from tests.wire.certificates import Authority

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


class Full(FakeSubstrate):
    """A region whose quota is used up, and a host the substrate no longer knows."""

    def __init__(self) -> None:
        super().__init__([*slots(2), *slots(1, "h", host=Host("h-1"))])

    def admit(self, kind: Kind, machine: MachineRecord) -> None:
        raise QuotaExceeded("16 of 16 vCPUs used")

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        return GONE


def test_a_used_up_quota_is_told_once_per_offering() -> None:
    result = doctor(f"{HERE}:Full")
    assert "WRONG quota: std-2 in z1: 16 of 16 vCPUs used" in result.output
    assert "WRONG inspect: h-0 is gone, yet describe shows its host" in result.output


def test_a_quota_that_cannot_be_asked_for_is_said_to_be_unknown() -> None:
    result = doctor("bigfleet.provider.testing:FakeSubstrate")
    assert "ok    quota: unknown" in result.output


def test_a_certificate_callers_would_refuse_is_found(tmp_path: Path) -> None:
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    assert why_not_trusted(ours.leaf("good")) is None
    told = why_not_trusted(other.leaf("foreign", trusts=ours))
    assert told is not None
    assert "issuer" in told


def test_every_wrong_thing_is_named() -> None:
    result = doctor(f"{HERE}:Sick")
    wrong = [line for line in result.output.splitlines() if line.startswith("WRONG")]
    assert [line.split()[1] for line in wrong] == ["complete:", "Bad_Id-0:", "prices:"]
