"""Sentences of reasons that only findings have: what is wrong with a fleet as a whole.

They are part of the table in reasons.py, which says how its fields are written.
"""

FINDING_TEMPLATES: dict[str, tuple[int, tuple[str, ...]]] = {
    "rail.rollup-refused": (
        1,
        (
            "the roll-ups of {clusters:n cluster} are refused: the last demand that was taken stays"
            " in force",
        ),
    ),
    "rail.journal": (
        1,
        ("{problem}: decisions go on, and are not recorded",),
    ),
    "rail.coordinator": (
        1,
        (
            "coordinator {address} has not answered since {since} ({error}): the shard goes on with"
            " what it has",
            "coordinator {address} does not answer ({error}): the shard goes on with what it has",
        ),
    ),
    "rail.verifier-broken": (
        1,
        ("the verifier fails ({problem}): nothing is reclaimed, preempted or deleted",),
    ),
    "machines.failed": (3, ("{machines:n machine} {machines:is/are} Failed",)),
    "machines.lost": (
        3,
        (
            "{clusters:names} lost {machines} {capacityType} {machines:machine/machines} since"
            " {since}, the last at {last}: provider {provider} {how}",
        ),
    ),
    "nodes.lost": (
        3,
        (
            "cluster {cluster} lost {machines:n machine} since {since}, the last at {last}: {how}",
            "clusters report {waiting:n lost machine} that {waiting:is/are} not given up yet: of"
            " one cluster only a fifth goes at a time, and more than half of it must stay lost for"
            " 5 min first",
        ),
    ),
    "needs.waiting": (
        3,
        (
            "{waiting} of {needs:n need} {waiting:waits/wait}: {states}",
            "{pods:n pod} {pods:waits/wait} although {pods:its/their} machines are there",
        ),
    ),
}
