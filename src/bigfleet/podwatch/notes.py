"""What is told about an object in an Event: a word, and the sentence that helps."""

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class PodNote:
    reason: str
    text: str
    #: What of the pod is not translated, as a label of a gauge; empty: nothing is lost.
    untranslated: str = ""
    #: Worth knowing, and nothing to mend: told on one pod of each owner, not as a warning.
    is_hint: bool = False


@lru_cache(maxsize=4096)
def shared(notes: tuple[PodNote, ...]) -> tuple[PodNote, ...]:
    """The same object for equal notes: thousands of pods of one template keep one copy."""
    return notes
