"""A shard as a process: one per data dir, in order up, in order down, settings read again."""

import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.shard_processes.process import Running, launched, serving, shard_words
from tests.shard_system.waiting import until

NOBODY = "127.0.0.1:1"


@pytest.fixture
async def shard(tmp_path: Path) -> AsyncIterator[Running]:
    config = tmp_path / "shard.yaml"
    config.write_text("shard: {execute: {rpc_timeout: 20s}}\n")
    words = shard_words(tmp_path / "data", NOBODY, "--config", str(config))
    async with serving(*words) as running:
        yield running


async def test_a_shard_is_told_apart_reloaded_and_stopped(shard: Running, tmp_path: Path) -> None:
    settings = Path(f"/proc/{shard.pid}/environ").read_text().split("\0")
    assert "PYTHONMALLOC=malloc" in settings, "memory would not be given back"
    async with launched(*shard_words(tmp_path / "data", NOBODY)) as second:
        assert await second.ended() == 2
    assert f"in use by process {shard.pid}" in json.dumps(second.lines)
    words = shard_words(tmp_path / "other", NOBODY, "--listen", shard.address)
    async with launched(*words) as third:
        assert await third.ended() == 2
    assert f"cannot listen on {shard.address}" in json.dumps(third.lines)
    config = tmp_path / "shard.yaml"
    config.write_text("shard: {execute: {rpc_timeout: 7s, concurrency: 9}}\n")
    shard.send(signal.SIGHUP)
    await until(lambda: shard.logged("config.restart"), lambda: shard.lines)
    assert "rpc_timeout" in shard.logged("config.applied")[0]["msg"]
    assert "concurrency" in shard.logged("config.restart")[0]["msg"]
    config.write_text("shard: {execute: {rpc_timeout: soon}}\n")
    shard.send(signal.SIGHUP)
    await until(lambda: shard.logged("config.refused"), lambda: shard.lines)
    shard.send(signal.SIGTERM)
    assert await shard.ended() == 0
    assert shard.logged("shard.stopped")
    assert (tmp_path / "data" / "epoch").read_text() == "1\n"


async def test_an_unreadable_epoch_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "epoch").write_text("seven")
    async with launched(*shard_words(tmp_path, NOBODY)) as shard:
        assert await shard.ended() == 2
    said = json.dumps(shard.lines)
    assert "epoch cannot be read" in said
    assert "surely higher" in said
    assert (tmp_path / "epoch").read_text() == "seven"
