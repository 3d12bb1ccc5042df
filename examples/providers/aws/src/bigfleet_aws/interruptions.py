"""Spot interruption warnings, as EventBridge puts them into an SQS queue."""

import json
from typing import Any

from bigfleet_aws.refusals import aws_words

WARNING = "EC2 Spot Instance Interruption Warning"
#: SQS holds the question open that long; a provider that is asked to stop waits for its end.
LONG_POLL_SECONDS = 5


class InterruptionQueue:
    """Blocking calls."""

    def __init__(self, sqs: Any, url: str) -> None:
        self._sqs = sqs
        self._url = url

    def next_warnings(self) -> list[str]:
        """Instances about to be taken; a message is gone from the queue once it is returned."""
        with aws_words():
            answer = self._sqs.receive_message(
                QueueUrl=self._url, MaxNumberOfMessages=10, WaitTimeSeconds=LONG_POLL_SECONDS
            )
            found = []
            for message in answer.get("Messages", ()):
                if instance_id := warned_instance(message["Body"]):
                    found.append(instance_id)
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
        return found


def warned_instance(body: str) -> str:
    """The instance a message warns about, empty for a message about anything else."""
    try:
        event = json.loads(body)
        if event["detail-type"] != WARNING:
            return ""
        return str(event["detail"]["instance-id"])
    except (ValueError, KeyError, TypeError):
        return ""
