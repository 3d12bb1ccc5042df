"""How many Need rows a second one core reads and takes over, without sessions and machines.

Rows are all new to the reader at first; then each cluster reports again with one row changed, which
is what clusters do.
"""

import time
from dataclasses import replace

from bigfleet.cli.shard_bench.fleet import Scale, cluster_name, rollup
from bigfleet.model.ownership import Ownership
from bigfleet.shard.parts import Parts, ShardStart
from bigfleet.shard.settings import ShardSettings
from bigfleet.wire.rollups import RollupReader


def rows_per_second(scale: Scale) -> tuple[float, float]:
    """Of CPU time of this thread: for first roll-ups, and for roll-ups with one row changed."""
    reader = RollupReader()
    settings = ShardSettings()
    start = ShardStart(settings, 1, {}, str, 0, {}, Ownership(settings.id))
    ingest = Parts(start).ingest
    limit = scale.sessions * scale.rows
    rates = []
    for variant in (0, 1):
        contents = [
            (cluster_name(cluster), rollup(scale, cluster, variant, variant, cluster + 1))
            for cluster in range(scale.sessions)
        ]
        began = time.thread_time()
        for name, content in contents:
            ingest.on_rollup(name, reader.read(content, name, limit), 1)
        rates.append(limit / (time.thread_time() - began))
    return rates[0], rates[1]


def large_rollups(scale: Scale) -> Scale:
    """As many rows in all, in fewer and larger roll-ups."""
    clusters = max(1, scale.sessions * scale.rows // 1000)
    return replace(scale, sessions=clusters, rows=min(1000, scale.sessions * scale.rows))
