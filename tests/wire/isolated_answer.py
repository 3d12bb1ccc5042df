"""A comparison of pools as a scripted shard tells it."""

from bigfleet.model.isolated import (
    IsolatedCall,
    IsolatedCluster,
    IsolatedReport,
    IsolatedSlice,
    Measures,
    Split,
)
from bigfleet.model.latencies import Latencies

CALL = IsolatedCall(Split.MEAN, 0.25, 7, 9)
_POOLED = Measures(1.5, 2.5, 0.5, 3, {"cpu": 0.25}, {"cpu": 25.0})
_ISOLATED = Measures(2.5, 3.5, 1.5, 0, {"cpu": 0.5, "memory": 1.0}, {"cpu": 50.0, "memory": 2.0})
REPORT = IsolatedReport(
    *("3:1", "3:9", 7, 9, 9, Split.MEAN, 0.25, 10),
    slices=(IsolatedSlice(0, 8.5, _POOLED, _ISOLATED),),
    clusters=(IsolatedCluster("shop", 1.0, 4, _ISOLATED),),
    latencies=Latencies({"create.Spot": 4.0}, {"create.Spot": 12}),
    gaps=("cycles are missing",),
    cut_short="the time was up",
)


class ScriptedIsolated:
    """That part of a scripted shard."""

    asked: list[tuple[object, ...]]

    async def isolated(self, call: IsolatedCall) -> IsolatedReport:
        self.asked.append(("isolated", call))
        return REPORT
