"""What goes wrong in one place does not stop the rest."""

from bigfleet.edge.counts import MOST_VALUES
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, MachineRecord, Token
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.testing import FakeSubstrate, slots
from tests.provider.rig import rejection, running
from tests.provider.serving.test_the_store_fails import Failing


async def test_reconciling_goes_on_after_a_describe_that_could_not_be_stored() -> None:
    store = Failing()
    async with running(slots(1), store=store) as rig:
        rig.substrate.instances |= {i.id: i for i in slots(1, "new")}
        store.broken = True
        await rig.clock.advance(121)
        store.broken = False
        await rig.clock.advance(121)
        assert (await rig.ids())[0] == ["m-0", "new-0"]


class BrokenAdmission(FakeSubstrate):
    broken = True

    def admit(self, kind: Kind, machine: MachineRecord) -> None:
        if self.broken:
            raise ZeroDivisionError


async def test_a_backend_that_breaks_in_admission_breaks_one_call() -> None:
    substrate = BrokenAdmission(slots(4))
    async with running(substrate=substrate) as rig:
        assert (await rejection(rig.create("m-0"))).code is Code.INTERNAL
        assert await rig.state("m-0") is MachineState.SPECULATIVE
        substrate.broken = False
        await rig.to_idle("m-0")


def test_invented_shards_do_not_multiply_the_metrics() -> None:
    metrics = ProviderMetrics()
    for number in range(3 * MOST_VALUES):
        metrics.counts.add("fenced_total", shard=Token(f"shard-{number}").shard_id)
    text = metrics.text().decode()
    assert text.count("bigfleet_provider_fenced_total{") == MOST_VALUES + 1
    assert 'bigfleet_provider_fenced_total{shard="other"} 200.0' in text
