"""Mutants that only many random calls bring to light."""

from unicodedata import normalize

from bigfleet.conformance.reference.mutants.errors import TooWide
from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import MARK, Kind, Reference
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, ConfigureCall, Mutation, Rejected


@breaks("tokens compared as text")
class TokensAsText(Reference):
    def newer(self, token: MARK, mark: MARK) -> bool:
        return tuple(map(str, token)) > tuple(map(str, mark))


@breaks("Unicode NFC applied")
class UnicodeNormalised(Reference):
    def stored(self, metadata: object) -> dict[str, str]:
        return {
            normalize("NFC", key): normalize("NFC", text)
            for key, text in super().stored(metadata).items()
        }


@breaks("Drain on S accepted")
class DrainAcceptsSpeculative(TooWide):
    kind, source = Kind.DRAIN, S.SPECULATIVE


@breaks("mark per machine")
class MarkPerMachine(Reference):
    def mark_key(self, call: Mutation) -> tuple[str, str]:
        return ("", call.machine_id)


@breaks("big map gives FP")
class BigMapIsStale(Reference):
    def check_request(self, call: Mutation) -> None:
        if isinstance(call, ConfigureCall) and len(call.shard_metadata) >= 400:
            raise Rejected(Code.FAILED_PRECONDITION, "too much metadata")
        super().check_request(call)
