"""What Needs lack after Phase 1, for those who watch whether preemptions repeat themselves."""

from collections.abc import Iterable

import numpy as np

from bigfleet.engine.outcome import Outcome
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources


def deficit_of(outcome: Outcome, need: int) -> Resources:
    """Before victims are counted; Needs of one identity are summed, since their victims are."""
    identity = outcome.normalised.identity
    alike = outcome.queue[identity[outcome.queue] == identity[need]]
    return outcome.resources(outcome.credit.remaining[alike].sum(axis=0).tolist())


def short_among(outcome: Outcome, needs: Iterable[NeedKey]) -> set[NeedKey]:
    """Those of these Needs that are still short after Phase 1."""
    wanted = set(needs)
    profiles = outcome.scene.demand.tables.profiles
    rows = {profiles.find(need.fingerprint) for need in wanted}
    queue = outcome.queue
    alike = queue[np.isin(outcome.normalised.profile[queue], list(rows))]
    return wanted & {outcome.key(int(n)) for n in alike.tolist()}
