"""What is told about an object in an Event: a word, and the sentence that helps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    reason: str
    text: str
