"""Over random schedules: of every machine at most one shard may act, and hand-overs end.

Shards crash, lose their files, are removed and come back; replies are lost; leaders change, and one
that was deposed goes on talking; the store is restored from a snapshot.
"""

from hypothesis import settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import domains, shard_sync
from bigfleet.coordinator.partition_keys import set_partition_keys
from bigfleet.model.ownership import Pair
from bigfleet.model.provider_calls import Rejected
from tests.coordination_model import ModelFleet, ModelMachine, ModelShard

SHARDS = ("a", "b", "c")
PROVIDERS = ("p:1", "q:1")
PAIRS = (("zone", "z1"), ("zone", "z2"), ("rack", "r1"), ("rack", "r2"), ("gpu", "g1"))

some_shard = strategies.sampled_from(SHARDS)
some_pair = strategies.sampled_from(PAIRS)
some_provider = strategies.sampled_from(PROVIDERS)
some_machine = strategies.integers(0, 11)


def machines() -> list[ModelMachine]:
    """One of every sort."""
    found = []
    for zone in ("z1", "z2"):
        for rack in ("r1", "r2", ""):
            for provider in PROVIDERS:
                labels = {"zone": zone, "gpu": "g1" if provider == "p:1" else "none"}
                if rack:
                    labels["rack"] = rack
                found.append(ModelMachine(f"{zone}-{rack}-{provider}", provider, labels))
    return found


class OneOwner(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fleet = ModelFleet(machines())
        self.snapshot: dict[str, bytes] | None = None
        self.deposed: Book | None = None

    @initialize(keys=strategies.sampled_from([(), ("zone",), ("rack", "zone")]))
    def begin(self, keys: tuple[str, ...]) -> None:
        self.fleet.do(set_partition_keys, keys)
        for name in SHARDS:
            self.fleet.joined(name, *PROVIDERS)

    def shard(self, name: str) -> ModelShard:
        return self.fleet.shards[name]

    # -- people ----------------------------------------------------------------------------------

    @rule(pair=some_pair, name=some_shard)
    def assign(self, pair: Pair, name: str) -> None:
        self.attempt(domains.assign, *pair, name)

    @rule(pair=some_pair)
    def unassign(self, pair: Pair) -> None:
        self.attempt(domains.unassign, *pair)

    @rule(pair=some_pair, name=some_shard)
    def move(self, pair: Pair, name: str) -> None:
        self.attempt(domains.unassign, *pair)
        self.attempt(domains.assign, *pair, name)

    @rule(pair=some_pair)
    def unassign_and_wait(self, pair: Pair) -> None:
        self.attempt(domains.unassign, *pair)
        self.fleet.rounds(5)

    @rule(provider=some_provider, name=some_shard)
    def set_default_owner(self, provider: str, name: str) -> None:
        self.attempt(domains.set_default_owner, provider, name)

    @rule(name=some_shard)
    def remove(self, name: str) -> None:
        shard = self.shard(name)
        if not shard.dead and len(self.fleet.alive()) > 1:
            self.fleet.kill(shard)

    @rule(name=some_shard)
    def come_back_empty(self, name: str) -> None:
        old = self.shard(name)
        if old.dead and self.fleet.book.tables.shards.get(name) is None:
            self.fleet.join(name, *old.providers).epoch = old.epoch + 1

    # -- shards ----------------------------------------------------------------------------------

    @rule(name=some_shard)
    def round(self, name: str) -> None:
        if not self.shard(name).dead:
            self.fleet.wait(1)
            self.fleet.round(self.shard(name))

    @rule(number=strategies.sampled_from([1, 5]), seconds=strategies.sampled_from([1, 10]))
    def rounds(self, number: int, seconds: int) -> None:
        self.fleet.rounds(number, seconds)

    @precondition(lambda self: self.fleet.book.merging)
    @rule()
    def the_merge_ends(self) -> None:
        """If no shard is dead; then some hear of it before others do."""
        self.fleet.rounds(3)
        self.fleet.wait(31)
        self.fleet.tick()

    @rule(name=some_shard, answered=strategies.booleans())
    def report(self, name: str, answered: bool) -> None:
        if not self.shard(name).dead:
            self.fleet.report(self.shard(name), answered=answered)

    @rule(name=some_shard, answered=strategies.booleans())
    def sync(self, name: str, answered: bool) -> None:
        if not self.shard(name).dead:
            try:
                self.fleet.sync(self.shard(name), answered=answered)
            except Rejected:
                return

    @rule(name=some_shard)
    def crash(self, name: str) -> None:
        self.shard(name).crash()

    @rule(name=some_shard)
    def lose_state(self, name: str) -> None:
        self.shard(name).lose_state()

    @rule(name=some_shard, provider=some_provider)
    def attach_or_detach(self, name: str, provider: str) -> None:
        shard = self.shard(name)
        if provider in shard.providers:
            shard.providers = tuple(p for p in shard.providers if p != provider)
        else:
            shard.providers = (*shard.providers, provider)

    @rule(name=some_shard, index=some_machine)
    def occupy(self, name: str, index: int) -> None:
        machine = self.fleet.machines[index]
        if self.shard(name).owns(machine, occupied=False):
            machine.occupied = True

    @rule(index=some_machine)
    def free(self, index: int) -> None:
        machine = self.fleet.machines[index]
        if self.fleet.actors(machine):
            machine.occupied = False

    # -- the coordinator -------------------------------------------------------------------------

    @rule()
    def fail_over(self) -> None:
        self.deposed = self.fleet.coordinator.fail_over()

    @precondition(lambda self: self.deposed is not None)
    @rule(name=some_shard)
    def sync_with_a_deposed_leader(self, name: str) -> None:
        """It answers only what needs no commit."""
        shard, book = self.shard(name), self.deposed
        assert book is not None
        if shard.dead or book.shard(name) is None:
            return
        sent = shard.sync_request()
        draft = Draft(book.tables, self.fleet.now)
        try:
            reply = shard_sync.on_sync(book, draft, sent)
        except Rejected:
            return
        if not draft.changes():
            shard.take_sync(shard_sync.finish_sync(book, sent, reply), sent)

    @rule(seconds=strategies.sampled_from([1, 10, 31]))
    def time_passes(self, seconds: int) -> None:
        self.fleet.wait(seconds)
        self.fleet.tick()

    @rule()
    def save_a_snapshot(self) -> None:
        self.snapshot = dict(self.fleet.coordinator.rows)

    @precondition(lambda self: self.snapshot is not None)
    @rule()
    def restore_the_snapshot(self) -> None:
        """Everybody finds the new leader within three report intervals."""
        assert self.snapshot is not None
        self.fleet.coordinator.restore(self.snapshot)
        self.deposed = None
        for shard in self.fleet.alive():
            self.fleet.report(shard)

    # -- laws ------------------------------------------------------------------------------------

    @invariant()
    def at_most_one_shard_acts_on_a_machine(self) -> None:
        self.fleet.assert_one_actor()

    @invariant()
    def rows_are_sound(self) -> None:
        self.fleet.assert_rows_are_sound()

    def teardown(self) -> None:
        self.fleet.settle()
        self.fleet.assert_one_actor()
        self.fleet.assert_settled()

    def attempt(self, operation: object, *args: object) -> None:
        try:
            self.fleet.do(operation, *args)  # type: ignore[arg-type]
        except Rejected:
            return


TestOneOwner = OneOwner.TestCase
TestOneOwner.settings = settings(max_examples=settings().max_examples // 3, stateful_step_count=40)
