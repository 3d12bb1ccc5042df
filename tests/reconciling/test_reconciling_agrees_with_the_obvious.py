"""For any Lists and any events between them the slow reconciler says the same."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.machines import Assigned, Host, Machine, MachineState
from bigfleet.model.metadata import encode
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.reconciling.oracle import Oracle
from tests.reconciling.rig import (
    CONFIGURED,
    CONFIGURING,
    CREATING,
    DELETING,
    DRAINING,
    FAILED,
    IDLE,
    SPECULATIVE,
    Rig,
    record,
)

NAMES = ["a", "b", "c"]
HOSTS = [Host("acme", "i-1"), Host("acme", "i-2")]
LABELS = [
    {"rack": "r1"},
    {"kubernetes.io/hostname": "ip-1"},
    {"kubernetes.io/arch": "arm64"},
    {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"},
]
STAMPS = [Assigned(), Assigned(7, need_fingerprint="p=7")]


@st.composite
def records(draw: st.DrawFn) -> MachineRecord:
    made = record(draw(st.sampled_from(NAMES)), draw(st.sampled_from(list(MachineState))))
    if made.host is not None:
        made = replace(made, host=draw(st.sampled_from(HOSTS)))
    if made.state in (CONFIGURING, CONFIGURED, DRAINING, DELETING, FAILED, IDLE):
        made = replace(made, cluster=draw(st.sampled_from(["", "shop", "ml"])))
    return replace(
        made,
        price_per_hour=draw(st.sampled_from([0.5, 0.5, 0.9, -1.0])),
        zone=draw(st.sampled_from(["eu-1a", "eu-1b"])),
        labels=draw(st.sampled_from(LABELS)),
        shard_metadata=encode(draw(st.sampled_from(STAMPS))),
    )


@dataclass(frozen=True)
class Act:
    """The shard moves a machine, or begins or ends an action on it."""

    name: str
    state: MachineState
    pending: bool


@dataclass(frozen=True)
class List:
    records: list[MachineRecord]
    whole: bool
    #: What the shard does while the List is under way.
    meanwhile: list[Act]


acts = st.builds(
    Act,
    st.sampled_from(NAMES),
    st.sampled_from([CREATING, CONFIGURING, DELETING, FAILED, IDLE]),
    st.booleans(),
)
lists = st.builds(List, st.lists(records(), max_size=4), st.booleans(), st.lists(acts, max_size=2))


def moved(machine: Machine, state: MachineState) -> Machine:
    host = Host() if state in (CREATING, SPECULATIVE) else Host("acme", "i-9")
    cluster = "shop" if state is CONFIGURING else ""
    error = "gave up" if state is FAILED else ""
    return replace(
        machine, state=state, host=host, cluster=cluster, last_error=error, assigned=STAMPS[1]
    )


class Pair:
    def __init__(self) -> None:
        # The oracle believes every binding; what the guard holds is tests/quarantine.
        self.rig = Rig(settings=ShardSettings(rails=RailSettings(list_guard=False)))
        self.oracle = Oracle()
        self.oracle.pending = self.rig.pending

    def act(self, act: Act) -> None:
        self.rig.wait(1)
        if act.pending:
            self.rig.pending.add(act.name)
        else:
            self.rig.pending.discard(act.name)
        if act.name in self.rig.machines and self.rig.state(act.name) is not act.state:
            machine = moved(self.rig.machine(act.name), act.state)
            self.rig.local(machine)
            self.oracle.local(machine, self.rig.now)

    def list(self, event: List) -> None:
        rig = self.rig
        rig.wait(1)
        started = rig.now
        reading = rig.read(event.records, whole=event.whole)
        self.oracle.asks()
        for act in event.meanwhile:
            self.act(act)
        rig.wait(1)
        rig.arrived(reading, started, whole=event.whole)
        self.oracle.lists(event.records, started, whole=event.whole)

    def agree(self) -> None:
        machines = self.rig.machines
        assert {name: machines.truth(name) for name in machines.ids()} == self.oracle.machines
        unseen = {name: self.rig.reconciler.unseen_lists(name) for name in machines.ids()}
        assert {name: n for name, n in unseen.items() if n} == self.oracle.missed


@given(st.lists(st.one_of(acts, lists, lists), max_size=12))
def test_the_reconciler_and_the_obvious_one_agree(steps: list[Act | List]) -> None:
    pair = Pair()
    for step in steps:
        if isinstance(step, Act):
            pair.act(step)
        else:
            pair.list(step)
        pair.agree()
