"""Scripts as a host would run them, commands as SSM would answer, warnings as SQS would give."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from bigfleet.model.machines import Host
from bigfleet.provider import HostGone, Interruption, Kind, MachineRecord, Permanent, Retryable
from bigfleet_aws import Ec2, host_commands
from bigfleet_aws.clients import Clients
from bigfleet_aws.host_commands import HostCommands, configure_script, drain_script
from bigfleet_aws.interruptions import WARNING, warned_instance
from bigfleet_aws.settings import Ec2Config
from tests.examples.aws.cloud import SLOT, machine, operation


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The host's /run/bigfleet."""
    monkeypatch.setattr(host_commands, "FOLDER", str(tmp_path / "run"))
    return tmp_path


def run(script: str) -> int:
    return subprocess.run(["sh", "-c", script], check=False).returncode


def test_a_repeated_configure_is_done_once_until_the_host_is_drained(folder: Path) -> None:
    told = {"BIGFLEET_CLUSTER": "it's a shop"}
    command = f"sh -c 'cat >>{folder}/joined; echo \" $BIGFLEET_CLUSTER\" >>{folder}/joined'"
    configure = configure_script(command, told, "printf blob", "key-1")
    assert (run(configure), run(configure)) == (0, 0)
    assert (folder / "joined").read_text() == "blob it's a shop\n"
    assert run(drain_script("true", {})) == 0
    assert run(configure) == 0
    assert (folder / "joined").read_text() == "blob it's a shop\n" * 2


def test_a_blob_that_does_not_arrive_reaches_no_command(folder: Path) -> None:
    script = configure_script(f"touch {folder}/ran", {}, "false", "key-1")
    assert run(script) != 0
    assert not (folder / "ran").exists()


def test_no_blob_is_left_on_the_host(folder: Path) -> None:
    assert run(configure_script("true", {}, "printf blob", "key-1")) == 0
    assert {path.name for path in (folder / "run").iterdir()} == {"lock", "configured"}


def test_a_failed_configure_is_not_remembered_as_done(folder: Path) -> None:
    script = configure_script("sh -c 'exit 75'", {}, "printf blob", "key-1")
    assert (run(script), run(script)) == (75, 75)


def test_an_inline_blob_comes_out_as_it_went_in(cfg: Ec2Config) -> None:
    blob = bytes(range(256))
    words = HostCommands(None, None, cfg).put_blob("key", blob)
    assert subprocess.run(["sh", "-c", words], capture_output=True).stdout == blob


def test_a_large_blob_without_a_bucket_says_what_to_do(cfg: Ec2Config) -> None:
    with pytest.raises(Permanent, match="set blob_bucket"):
        HostCommands(None, None, cfg).put_blob("key", b"x" * 100_000)


class AnswersWith:
    """SSM with one answer for everything."""

    def __init__(self, **invocation: object) -> None:
        self._invocation = {"StatusDetails": "", **invocation}

    def get_command_invocation(self, **_: object) -> dict[str, object]:
        return self._invocation

    def send_command(self, **_: object) -> dict[str, object]:
        raise ClientError({"Error": {"Code": "InvalidInstanceId"}}, "SendCommand")


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        ({"Status": "Failed", "ResponseCode": 1, "StandardErrorContent": "no disk\n"}, Permanent),
        ({"Status": "Failed", "ResponseCode": 75, "StandardErrorContent": "no disk\n"}, Retryable),
        ({"Status": "TimedOut", "StatusDetails": "Delivery Timed Out"}, Retryable),
        ({"Status": "TimedOut", "StatusDetails": "Execution Timed Out"}, Permanent),
    ],
    ids=["failed", "not now", "never arrived", "took too long"],
)
def test_the_end_of_a_command_has_a_meaning(
    cfg: Ec2Config, answer: dict[str, object], meaning: type[Exception]
) -> None:
    with pytest.raises(meaning, match=r"no disk|Timed Out"):
        HostCommands(AnswersWith(**answer), None, cfg).ended("c", "i-1")


def test_an_agent_that_has_not_reported_yet_is_waited_for(cfg: Ec2Config) -> None:
    with pytest.raises(Retryable):
        HostCommands(AnswersWith(), None, cfg).send("i-1", "true", 60, "test")


async def hosted(backend: Ec2) -> MachineRecord:
    record = machine(SLOT)
    created = await backend.create(operation(Kind.CREATE, record))
    return replace(record, host=Host("ec2", created.host.ref))


async def test_configure_leaves_no_blob_in_the_bucket(backend: Ec2, clients: Clients) -> None:
    op = operation(Kind.CONFIGURE, await hosted(backend), cluster="shop")
    await backend.configure(replace(op, bootstrap_blob=b"secret" * 10_000))
    await backend.confirm_ready(op)
    stored = clients.s3.list_objects_v2(Bucket=backend.cfg.blob_bucket)
    assert stored["KeyCount"] == 0


async def test_a_host_that_ended_is_gone_for_its_drain(backend: Ec2) -> None:
    record = await hosted(backend)
    await backend.delete(operation(Kind.DELETE, record))
    with pytest.raises(HostGone):
        await backend.drain(operation(Kind.DRAIN, record))


@pytest.mark.parametrize("body", ["", "[]", '{"detail-type": "Other"}', "not json"])
def test_a_message_about_anything_else_warns_of_nothing(body: str) -> None:
    assert warned_instance(body) == ""


async def test_a_spot_warning_names_its_machine(backend: Ec2, clients: Clients) -> None:
    record = await hosted(backend)
    assert record.host is not None
    url = clients.sqs.create_queue(QueueName="warnings")["QueueUrl"]
    event = {"detail-type": WARNING, "detail": {"instance-id": record.host.ref}}
    clients.sqs.send_message(QueueUrl=url, MessageBody=json.dumps(event))
    backend._warnings._url = url
    object.__setattr__(backend, "cfg", replace_queue(backend.cfg, url))
    signal = await anext(aiter(backend.watch()))
    assert isinstance(signal, Interruption)
    assert signal.machine_id == SLOT


def replace_queue(cfg: Ec2Config, url: str) -> Ec2Config:
    settings = {name: getattr(cfg, name) for name in cfg.__struct_fields__}
    return Ec2Config(**{**settings, "interruption_queue": url})
