"""The fourth five schedules, on one fleet."""

import pytest

from tests.coordinator_processes.laws import Laws
from tests.coordinator_processes.schedules import run_schedule, seeds
from tests.etcd_cluster import needs_etcd

pytestmark = [
    needs_etcd,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.nightly("minutes of faults"),
]


@pytest.mark.parametrize("seed", seeds(3))
async def test_a_schedule_of_faults_leaves_one_owner_of_every_machine(
    laws: Laws, seed: int
) -> None:
    await run_schedule(laws, seed)
