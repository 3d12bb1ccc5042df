"""Asks the shard for ProvisioningRequests: what-if before a booking, states of Needs after it.

The line is opened for each question, so that new certificates count: questions are few.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need, NeedKey, aggregate, is_margin
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import NeedListing, NeedQuery, NeedRow
from bigfleet.model.what_if import AddDemand, WhatIfAnswer, WhatIfCall
from bigfleet.podwatch.capacity_questions import CapacityAnswer, Verdict
from bigfleet.wire.shard_admin import ShardAdminClient

if TYPE_CHECKING:
    from bigfleet.wire.lines import TlsFiles

#: Seconds, of a listing; a what-if has its own (`WHAT_IF_DEADLINE`).
DEADLINE = 20.0


class ShardQuestions:
    def __init__(self, address: str, cluster: str, tls: "TlsFiles | None") -> None:
        self._address = address
        self._cluster = cluster
        self._tls = tls

    async def would_be_covered(
        self, needs: Sequence[Need], beside: Sequence[Need] = ()
    ) -> CapacityAnswer:
        call = WhatIfCall(0, tuple(map(AddDemand, aggregate([*beside, *needs]))))
        try:
            async with self._line() as client:
                answer = await client.what_if(call)
        except (Rejected, OSError) as problem:
            return not_answered(self._address, problem)
        return covered_in([need.key for need in needs], answer, self._address)

    async def are_there(self, needs: Sequence[NeedKey]) -> CapacityAnswer:
        try:
            async with self._line() as client:
                listing = await client.needs(NeedQuery(self._cluster))
        except (Rejected, OSError) as problem:
            return not_answered(self._address, problem)
        return told_of(needs, listing)

    def _line(self) -> ShardAdminClient:
        """Raises OSError where the certificates cannot be read."""
        return ShardAdminClient(self._address, self._tls, deadline=DEADLINE)


def not_answered(address: str, problem: Rejected | OSError) -> CapacityAnswer:
    if isinstance(problem, OSError):
        text = f"the certificates cannot be read: {problem}"
    elif problem.code is Code.UNIMPLEMENTED:
        text = f"the shard at {address} is older than this question; upgrade it"
    else:
        text = f"the shard at {address} does not answer: {problem}"
    return CapacityAnswer(Verdict.UNKNOWN, text)


def covered_in(needs: Sequence[NeedKey], answer: WhatIfAnswer, address: str) -> CapacityAnswer:
    """Yes only where the answer says so of every one of them."""
    told = {each.key: each for each in answer.added}
    for key in needs:
        found = told.get(key)
        if found is None:
            text = f"the shard at {address} does not say whether added demand fits; upgrade it"
            return CapacityAnswer(Verdict.UNKNOWN, text)
        if not found.covered:
            return CapacityAnswer(Verdict.NO, f"{found.name}: {found.code}: {found.sentence}")
    return CapacityAnswer(Verdict.YES, f"cycle {answer.cycle}")


def told_of(needs: Sequence[NeedKey], listing: NeedListing) -> CapacityAnswer:
    """The worst of them; one that is held back is on its way: a pause takes nothing away."""
    arriving = missing = ""
    for key in needs:
        found = [row for row in listing.rows if _is_about(row, key)]
        name = f"need/{key.cluster}/{key.need_id}"
        if not found:
            missing = missing or f"{name} has not reached the shard yet"
        for row in found:
            if row.state is NeedState.SHORT:
                text = f"{name}: {row.reason.code}: {row.reason.text}"
                return CapacityAnswer(Verdict.NO, text, listing.cycle)
            if row.state is not NeedState.MET:
                arriving = arriving or f"{name}: {row.reason.text}"
    if missing:
        return CapacityAnswer(Verdict.UNKNOWN, missing, listing.cycle)
    if arriving:
        return CapacityAnswer(Verdict.ARRIVING, arriving, listing.cycle)
    return CapacityAnswer(Verdict.YES, "all machines are there", listing.cycle)


def _is_about(row: NeedRow, asked: NeedKey) -> bool:
    """An operator splits rows by sizes into groups of its own."""
    key = row.view.need.key
    if (key.cluster, key.fingerprint) != (asked.cluster, asked.fingerprint) or is_margin(key.group):
        return False
    return not asked.group or key.group == asked.group
