"""Commands on a host, through SSM Run Command: sent once, then asked about until they end.

SSM has no idempotency token, so the host itself remembers which Configure it has done.
A blob goes over a bucket where there is one, because commands are kept in SSM's history and are
small; the host gets an address that works for ten minutes.
"""

import base64
import shlex
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from bigfleet.provider import Permanent, Retryable
from bigfleet_aws.refusals import aws_words, code_of
from bigfleet_aws.settings import Ec2Config

TRY_AGAIN = 75
#: Of the 64 KiB SSM allows for all parameters of a command.
LONGEST_INLINE = 32 * 1024
ADDRESS_SECONDS = 600
#: How long SSM may look for the host's agent before the command counts as not sent.
DELIVERY_SECONDS = 60
AGENT_WAIT_SECONDS = 5.0
#: In memory on the host: a reboot forgets what was configured, and so must we.
FOLDER = "/run/bigfleet"

GOING_ON = frozenset({"Pending", "InProgress", "Delayed", "Cancelling"})
NOT_DELIVERED = frozenset({"Delivery Timed Out", "Undeliverable", "Terminated", "Cancelled"})


class HostCommands:
    """Blocking calls; each one ends in an answer or in an exception of the SDK."""

    def __init__(self, ssm: Any, s3: Any, cfg: Ec2Config) -> None:
        self._ssm = ssm
        self._s3 = s3
        self._cfg = cfg

    def send(self, instance_id: str, script: str, seconds: int, comment: str) -> str:
        parameters = {"commands": [script], "executionTimeout": [str(max(30, seconds))]}
        try:
            with aws_words():
                answer = self._ssm.send_command(
                    InstanceIds=[instance_id],
                    DocumentName="AWS-RunShellScript",
                    Comment=comment[:100],
                    TimeoutSeconds=DELIVERY_SECONDS,
                    Parameters=parameters,
                )
        except Permanent as error:
            cause = error.__cause__
            if isinstance(cause, ClientError) and code_of(cause) == "InvalidInstanceId":
                # The agent has not reported yet; whether the host is gone is asked elsewhere.
                raise Retryable(str(error), after=AGENT_WAIT_SECONDS) from error
            raise
        return str(answer["Command"]["CommandId"])

    def ended(self, command_id: str, instance_id: str) -> bool:
        """False: still going on. A command that failed raises what that means."""
        try:
            answer = self._ssm.get_command_invocation(CommandId=command_id, InstanceId=instance_id)
        except ClientError as error:
            if code_of(error) == "InvocationDoesNotExist":
                return False  # SSM shows a command a moment after it took it
            with aws_words():
                raise
        status = answer["Status"]
        if status == "Success":
            return True
        if status in GOING_ON:
            return False
        words = _last_line(answer.get("StandardErrorContent", "")) or answer["StatusDetails"]
        if answer.get("ResponseCode") == TRY_AGAIN or answer["StatusDetails"] in NOT_DELIVERED:
            raise Retryable(words)
        raise Permanent(words)

    def put_blob(self, key: str, blob: bytes) -> str:
        """Shell words that print the blob on the host."""
        if not self._cfg.blob_bucket:
            if len(blob) > LONGEST_INLINE:
                raise Permanent(
                    f"a blob of {len(blob)} bytes does not fit into a command: set blob_bucket"
                )
            return f"printf %s {base64.b64encode(blob).decode()} | base64 -d"
        place = {"Bucket": self._cfg.blob_bucket, "Key": f"bigfleet/{key}"}
        with aws_words():
            self._s3.put_object(Body=blob, **place)
            address = self._s3.generate_presigned_url(
                "get_object", Params=place, ExpiresIn=ADDRESS_SECONDS
            )
        return f"curl --fail --silent --show-error --retry 3 {shlex.quote(address)}"

    def drop_blob(self, key: str) -> None:
        if self._cfg.blob_bucket:
            with aws_words():
                self._s3.delete_object(Bucket=self._cfg.blob_bucket, Key=f"bigfleet/{key}")


def configure_script(command: str, told: Mapping[str, str], blob: str, key: str) -> str:
    """Feeds the command what the shell words `blob` print; done once for each `key`.

    The blob is complete in a file before the command sees any of it, and gone afterwards.
    """
    return f"""set -eu
umask 077
mkdir -p {FOLDER}
exec 9>{FOLDER}/lock
flock 9
if [ "$(cat {FOLDER}/configured 2>/dev/null)" = {key} ]; then exit 0; fi
blob=$(mktemp {FOLDER}/blob.XXXXXX)
trap 'rm -f "$blob"' EXIT
{blob} >"$blob"
{_line(command, told)} <"$blob"
echo {key} >{FOLDER}/configured
"""


def drain_script(command: str, told: Mapping[str, str]) -> str:
    return f"""set -eu
mkdir -p {FOLDER}
exec 9>{FOLDER}/lock
flock 9
{_line(command, told)}
rm -f {FOLDER}/configured
"""


def ready_script(command: str, told: Mapping[str, str]) -> str:
    return f"{_line(command, told)}\n"


def _line(command: str, told: Mapping[str, str]) -> str:
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in told.items())
    return f"env {settings} {command}"


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")[:1000]
