"""R21: what a shard shows of its insides is shown only where somebody asked for it."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.shard_system.stand import QUICK, offered, provided, sharded

PAGES = ("/debug/state", "/debug/tasks")


@pytest.mark.parametrize(("asked_for", "status"), [(False, 404), (True, 200)])
async def test_r21_debug_pages_are_not_found_by_default(
    tmp_path: Path, asked_for: bool, status: int
) -> None:
    settings = replace(QUICK, debug_endpoints=True) if asked_for else QUICK
    async with (
        provided(tmp_path, [offered("bare_metal", 1)]) as provider,
        sharded(tmp_path / "data", [provider.address], settings) as shard,
    ):
        assert [(await shard.page(each))[0] for each in PAGES] == [status, status]
        assert (await shard.page("/healthz"))[0] == 200
