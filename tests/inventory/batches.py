"""Records as the batch a List of them would become."""

from collections.abc import Sequence

import numpy as np

from bigfleet.model.batches import NEVER, Hosts, MachineBatch, Offering, Texts
from bigfleet.model.machines import Machine
from bigfleet.model.requirements import HOSTNAME_KEY


def batch_of_machines(machines: Sequence[Machine]) -> MachineBatch:
    offerings = [offering_of(machine) for machine in machines]
    clusters = sorted({machine.cluster for machine in machines if machine.cluster})
    providers = sorted({machine.host.provider for machine in machines})
    everyone = range(len(machines))
    return MachineBatch(
        ids=[machine.id for machine in machines],
        offerings=offerings,
        clusters=clusters,
        stamps=[machine.assigned for machine in machines],
        offering_of_machine=np.array(everyone, np.int32),
        state_of_machine=np.array([machine.state for machine in machines], np.int8),
        cluster_of_machine=np.array(
            [clusters.index(m.cluster) if m.cluster else -1 for m in machines], np.int32
        ),
        stamp_of_machine=np.array(everyone, np.int32),
        idle_since_of_machine=np.full(len(machines), NEVER, np.int64),
        hosts=Hosts(
            providers,
            np.array(
                [-1 if m.host.empty else providers.index(m.host.provider) for m in machines],
                np.int32,
            ),
            Texts.of([machine.host.ref for machine in machines]),
        ),
        node_names=Texts.of([machine.labels.get(HOSTNAME_KEY, "") for machine in machines]),
        errors={row: m.last_error for row, m in enumerate(machines) if m.last_error},
    )


def offering_of(machine: Machine) -> Offering:
    """Without the node name, unless it is empty: then only the labels can say so."""
    labels = {k: v for k, v in machine.labels.items() if not (k == HOSTNAME_KEY and v)}
    return Offering(
        machine.capacity_type,
        machine.instance_type,
        machine.zone,
        tuple(sorted(labels.items())),
        machine.resources,
        machine.allocatable,
        machine.price_per_hour,
        machine.interruption_probability,
    )
