"""Asks the shard for ProvisioningRequests: what-if before a booking, states of Needs after it.

The line is opened for each question, so that new certificates count: questions are few.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need, NeedKey, is_margin
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import NeedQuery, NeedRow
from bigfleet.podwatch.capacity_questions import CapacityAnswer, Verdict
from bigfleet.wire.shard_admin import ShardAdminClient

if TYPE_CHECKING:
    from bigfleet.wire.lines import TlsFiles

#: Seconds; a what-if of a large fleet takes two.
DEADLINE = 20.0


class ShardQuestions:
    def __init__(self, address: str, cluster: str, tls: "TlsFiles | None") -> None:
        self._address = address
        self._cluster = cluster
        self._tls = tls

    async def would_be_covered(self, needs: Sequence[Need]) -> CapacityAnswer:
        text = "this shard does not answer what-if yet; upgrade it"
        return CapacityAnswer(Verdict.UNKNOWN, text)

    async def are_there(self, needs: Sequence[NeedKey]) -> CapacityAnswer:
        try:
            client = ShardAdminClient(self._address, self._tls, deadline=DEADLINE)
        except OSError as problem:
            text = f"the certificates cannot be read: {problem}"
            return CapacityAnswer(Verdict.UNKNOWN, text)
        try:
            async with client:
                rows = (await client.needs(NeedQuery(self._cluster))).rows
        except Rejected as problem:
            return not_answered(self._address, problem)
        return told_of(needs, rows)


def not_answered(address: str, problem: Rejected) -> CapacityAnswer:
    if problem.code is Code.UNIMPLEMENTED:
        text = f"the shard at {address} is older than this question; upgrade it"
    else:
        text = f"the shard at {address} does not answer: {problem}"
    return CapacityAnswer(Verdict.UNKNOWN, text)


def told_of(needs: Sequence[NeedKey], rows: Sequence[NeedRow]) -> CapacityAnswer:
    """The worst of them; one that the shard does not know yet is on its way, and so is one that is
    held back: a pause takes nothing away."""
    arriving = ""
    for key in needs:
        found = [row for row in rows if _is_about(row.view.need.key, key)]
        name = f"need/{key.cluster}/{key.need_id}"
        if not found:
            arriving = arriving or f"{name} has not reached the shard yet"
        for row in found:
            if row.state is NeedState.SHORT:
                text = f"{row.reason.code}: {row.reason.text}"
                return CapacityAnswer(Verdict.NO, f"{name}: {text}")
            if row.state is not NeedState.MET:
                arriving = arriving or f"{name}: {row.reason.text}"
    if arriving:
        return CapacityAnswer(Verdict.ARRIVING, arriving)
    return CapacityAnswer(Verdict.YES, "all machines are there")


def _is_about(row: NeedKey, asked: NeedKey) -> bool:
    """An operator splits rows by sizes into groups of its own."""
    if (row.cluster, row.fingerprint) != (asked.cluster, asked.fingerprint) or is_margin(row.group):
        return False
    return not asked.group or row.group == asked.group
