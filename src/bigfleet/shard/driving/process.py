"""A running shard: its tasks, from the first List to the last goodbye.

On the way up: the data dir is this process's own and its epoch is on disk before anything is sent.
On the way down: no new cycles and sessions, running calls get their time, sessions end with
UNAVAILABLE, what is to be kept is on disk; then it is over, however stuck a stream may be.
"""

import asyncio
import os
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bigfleet.edge.counts import Survey
from bigfleet.edge.driver import cpu_seconds
from bigfleet.edge.files import DirLock
from bigfleet.edge.process_usage import ProcessUsage
from bigfleet.engine.acquisition import RunWorkers
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.writer import JournalWriter
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import Ownership
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.process import Process, ProcessContext
from bigfleet.shard.audit import AuditFile
from bigfleet.shard.coordination.owned_machines import KEY as OWNERSHIP
from bigfleet.shard.coordination.owned_machines import ownership_of
from bigfleet.shard.coordination.registry import kept_providers, providers_to_attach
from bigfleet.shard.coordinator_client.driver import CoordinatorClient
from bigfleet.shard.driving.coordinator_side import CoordinatorSide
from bigfleet.shard.driving.costs import ShardCosts
from bigfleet.shard.driving.cycles import Cycles, KernelWarmup, every_second, settle_ownership
from bigfleet.shard.driving.event_feed import EventFeed
from bigfleet.shard.driving.forecasts import Forecasts
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.driving.providers import ProviderLines
from bigfleet.shard.driving.regret_meter import RegretMeter
from bigfleet.shard.driving.services import AdminAnswers, ReadAnswers
from bigfleet.shard.driving.sessions import SessionLines
from bigfleet.shard.driving.what_ifs import WhatIfs
from bigfleet.shard.effects import COORDINATION
from bigfleet.shard.metrics import ShardMetrics
from bigfleet.shard.parts import ShardStart
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.state import ShardState
from bigfleet.shard.statement_file import FILE as STATEMENT_FILE
from bigfleet.shard.statement_keeper import StatementKeeper
from bigfleet.shard.store import StateStore, next_epoch
from bigfleet.wire.coordinator_client import CoordinatorLines
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.session_server import ShardEndpoint
from bigfleet.wire.shard_admin import SHARD_ADMIN
from bigfleet.wire.shard_read import SHARD_READ

#: A shard whose last cycle began longer ago than this, or ten intervals, is not alive.
LONGEST_SILENCE_SECONDS = 60.0


class ShardProcess(Process):
    component = "shard"
    longest_lag_seconds = 5.0

    def __init__(self, settings: ShardSettings, context: ProcessContext) -> None:
        """Takes the data dir and reads it; raises StartRefused."""
        super().__init__(context)
        self._data_dir = Path(settings.data_dir)
        self._lock = DirLock(self._data_dir, "shard")
        epoch = next_epoch(self._data_dir)
        self._store = StateStore(self._data_dir, self._on_store_trouble)
        addresses = provider_addresses(settings.provider_addr)
        if settings.providers_from_registry:
            kept = kept_providers(self._store.rows.get(COORDINATION, {}))
            addresses |= providers_to_attach(kept, addresses)
        workers = settings.workers or os.cpu_count() or 1
        start = ShardStart(
            settings,
            epoch,
            addresses,
            context.new_id,
            context.clock.now(),
            self._store,
            _ownership(settings, self._store.rows.get(COORDINATION, {})),
        )
        self.state = state = ShardState(start, version=context.version, workers=workers)
        self._audit = self._audit_file(settings)
        self._journal = self._make_journal(settings, epoch)
        self._statements = StatementKeeper(
            self._data_dir / STATEMENT_FILE, epoch, context.clock.now, self._on_statement_trouble
        )
        self._outlet = outlet = Outlet(
            *(context.clock, context.log, self, self._store, self._audit),
            *(self._journal, self._statements),
        )
        self._threads = ThreadPoolExecutor(workers, "worker") if workers > 1 else None
        run_workers: RunWorkers = self._threads.map if self._threads else map
        #: What of its totals the metrics have.
        self._journal_counted: dict[str, int] = {}
        self._declared_counted: dict[str, float] = {}
        real_of = None if context.times is None else context.times.times.real_of
        self._forecasts = forecasts = Forecasts(state, context.stopwatch, context.log)
        directory = self._data_dir / "journal" if self._journal is not None else None
        self._what_ifs = WhatIfs(settings.id, epoch, directory)
        self._costs = self._make_costs(settings, state)
        self.regret = RegretMeter(state, outlet, self._what_ifs)
        self._feed = EventFeed(
            *(state, outlet.now, context.stopwatch, context.log, real_of),
            *(self.regret, forecasts),
        )
        self.cycles = Cycles(
            state,
            outlet,
            run_workers,
            context.stopwatch,
            journal=self._journal,
            feed=self._feed,
            beside=(self._what_ifs, self._forecasts),
            statements=self._statements,
        )
        clients = {
            name: ProviderClient(address, context.tls) for name, address in addresses.items()
        }
        self.sessions = SessionLines(state, outlet)
        self.providers = ProviderLines(state, outlet, self.sessions, clients, context.stopwatch)
        self.coordinating = CoordinatorSide(state, outlet, self._store, self)
        self._coordinator_client = self._make_coordinator_client()
        self._usage = ProcessUsage(context.stopwatch, cpu_seconds)
        self.metrics = ShardMetrics(
            state.effects.counts, self._refresh, context.version, context.certificate_ends
        )
        self._endpoint = self._make_endpoint(settings)
        self.warmup = KernelWarmup(context.log)

    @property
    def port(self) -> int:
        return self._endpoint.port

    @property
    def name(self) -> str:
        return self.state.settings.id

    @property
    def shutdown_grace(self) -> float:
        return self.state.settings.shutdown_grace

    @property
    def address(self) -> str:
        """What others are told."""
        settings = self.state.settings
        host, _, _ = settings.listen.rpartition(":")
        return settings.advertise_addr or f"{host}:{self.port}"

    def apply_settings(self, settings: ShardSettings) -> None:
        self._outlet.obey(self.state.apply_settings(settings))

    def why_not_alive(self) -> str:
        if not self.warmup.is_done:
            return ""
        patience = max(LONGEST_SILENCE_SECONDS, 10 * self.state.settings.cycle_interval)
        silence = (self.context.clock.now() - self.state.last_cycle_began) / SECOND
        silent = f"the last cycle began {silence:.0f} s ago" if silence > patience else ""
        return super().why_not_alive() or silent

    def why_not_ready(self) -> str:
        return self.warmup.why_not_ready() or self.state.why_not_ready()

    def sizes(self) -> Mapping[str, Any]:
        return {**self.state.dump(), "forecasts": self._forecasts.sizes()}

    # -- its part of a start and of a stop -------------------------------------------------------

    async def _open(self) -> None:
        """The pages come first, so that a probe can read how far compiling is."""
        settings = self.state.settings
        await self._serve_pages(settings.metrics_addr, debug=settings.debug_endpoints)
        await self.warmup.run()
        self._outlet.obey(self.state.taken())
        if self._journal is not None:
            self._journal.start()
        self._statements.start()
        await self._endpoint.start()
        await self._endpoint.set_serving(True)

    def _work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        pause_file = self._data_dir / self.state.settings.rails.pause_file
        return {
            "cycle": self.cycles.run(),
            "ingest": self.sessions.ingest(),
            "second": every_second(self.state, self._outlet, pause_file),
            "ownership": settle_ownership(self.state, self._outlet),
            "calls": self.providers.until_broken(),
            **{f"reconcile {name}": self.providers.follow(name) for name in self.providers.names},
        }

    def _side_work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        client = self._coordinator_client
        reports = {} if client is None else {"coordinator": client.run()}
        return {"costs": self._costs.keep(), "regret": self.regret.run(), **reports}

    def _on_side_task_died(self, name: str, problem: BaseException) -> None:
        if name == "costs":
            text = f"no more costs of past hours until a restart: {problem!r}"
            self.context.log.error("costs.degraded", msg=text)
            return
        if name == "regret":
            text = f"the regret is not measured any more until a restart: {problem!r}"
            self.context.log.error("regret.meter", msg=text)
            return
        text = f"no more reports to the coordinator until a restart: {problem!r}"
        self.context.log.error("coordinator.client", msg=text)

    def _facts(self) -> Mapping[str, Any]:
        return {"shard": self.state.settings.id}

    def _started_facts(self) -> Mapping[str, Any]:
        settings = self.state.settings
        return {
            "msg": f"shard {settings.id} serves on port {self.port}",
            "epoch": self.state.epoch,
            "port": self.port,
            "providers": provider_addresses(settings.provider_addr),
        }

    async def _begin_stop(self) -> None:
        self.sessions.close_to_new()
        self._outlet.obey(self.state.stop(self._outlet.now()))

    async def _finish(self, grace_seconds: float) -> None:
        await self.providers.settled(grace_seconds)
        self._outlet.obey(self.state.abandon(self._outlet.now()))
        await self._endpoint.stop()

    async def _close(self) -> None:
        await self._feed.close()
        await self._what_ifs.close()
        await self._costs.close()
        await self._forecasts.close()
        await self.providers.close()
        self.cycles.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._store.close)
        if self._audit is not None:
            await asyncio.to_thread(self._audit.close)
        if self._journal is not None:
            await asyncio.to_thread(self._journal.close)
        await asyncio.to_thread(self._statements.close)
        self._lock.release()

    # -- within ----------------------------------------------------------------------------------

    def _make_coordinator_client(self) -> CoordinatorClient | None:
        """None where no coordinator is named."""
        state, context = self.state, self.context
        if not state.settings.coordinator_addr:
            return None
        client = CoordinatorClient(
            CoordinatorLines(context.tls, context.times),
            self.coordinating,
            state.parts.settings,
            state.effects.counts,
            context.clock,
            context.draw,
            context.log,
        )
        state.coordination.attach(client)
        return client

    def _make_costs(self, settings: ShardSettings, state: ShardState) -> ShardCosts:
        kept = self._data_dir if settings.costs.enabled else None
        return ShardCosts(state, kept, self.context.clock, self.context.log)

    def _make_journal(self, settings: ShardSettings, epoch: int) -> JournalWriter | None:
        journal, context = settings.journal, self.context
        if not journal.enabled:
            return None
        limits = JournalLimits(journal.max_bytes, journal.max_age)
        directory = self._data_dir / "journal"
        file = JournalFile(directory, settings.id, epoch, context.version, limits)
        return JournalWriter(file, context.clock.now, context.stopwatch)

    def _make_endpoint(self, settings: ShardSettings) -> ShardEndpoint:
        read = RpcService(SHARD_READ, ReadAnswers(self.state))
        times = self.context.times
        real_of = (lambda instant: instant) if times is None else times.times.real_of
        kept = None if self._journal is None else self._data_dir / "journal"
        answers = AdminAnswers(
            self.state,
            self._outlet,
            self._usage,
            real_of,
            kept,
            self._journal_trouble,
            self._what_ifs,
            self._journal,
            self.context.stopwatch,
            self._feed,
            self._statements,
            self._costs,
            self._forecasts,
        )
        admin = RpcService(SHARD_ADMIN, answers)
        return ShardEndpoint(
            self.sessions,
            address=settings.listen,
            tls=self.context.tls,
            extra_services=[read, admin],
            failed=self._on_internal_error,
            times=self.context.times,
        )

    def attach_provider(self, name: str, address: str) -> None:
        """A provider that came to the coordinator's list while this shard runs."""
        self.state.attach_provider(name, address)
        self.providers.attach(name, ProviderClient(address, self.context.tls))

    def end_session(self, session: int, code: Code, text: str) -> None:
        self._endpoint.end(session, Rejected(code, text))

    def _refresh(self) -> Survey:
        counts = self.state.effects.counts
        counts.set("state_degraded", float(self._store.degraded))
        counts.set("cost_ledger_degraded", float(bool(self._costs.trouble)))
        audit = self._audit
        lost = audit is not None and audit.degraded
        counts.set("journal_degraded", float(lost or bool(self._journal_trouble())))
        self._count_journal()
        self._count_declared()
        counts.set("statements_degraded", float(bool(self._statements.trouble)))
        self._forecasts.measure(counts)
        if audit is not None:
            counts.set("audit_lines_lost", audit.lost)
        return self.state.survey()

    def _journal_trouble(self) -> str:
        return "" if self._journal is None else self._journal.trouble

    def _count_journal(self) -> None:
        if self._journal is None:
            return
        counts, figures = self.state.effects.counts, self._journal.figures()
        totals = (figures.written_bytes, figures.write_errors, figures.gaps)
        names = ("journal_bytes_total", "journal_write_errors_total", "journal_gaps_total")
        for name, total in zip(names, totals, strict=True):
            counts.add(name, total - self._journal_counted.get(name, 0))
            self._journal_counted[name] = total
        counts.set("journal_lag_seconds", figures.lag_seconds)
        if figures.oldest_at is not None:
            counts.set("journal_oldest_timestamp_seconds", figures.oldest_at / SECOND)
        for seconds in figures.sync_seconds:
            counts.observe("journal_fsync_seconds", seconds)

    def _count_declared(self) -> None:
        for kind, dollars in dict(self._statements.declared).items():
            more = dollars - self._declared_counted.get(kind, 0.0)
            self.state.effects.counts.add("declared_penalties_dollars_total", more, kind=kind)
            self._declared_counted[kind] = dollars

    def _on_statement_trouble(self, trouble: str) -> None:
        """In the keeper's thread."""
        if trouble:
            self.context.log.error("statements.degraded", msg=f"no statement is kept: {trouble}")
        else:
            self.context.log.info("statements.recovered", msg="statements are kept again")

    def _on_lag(self, seconds: float) -> None:
        self.state.effects.counts.observe("loop_lag_seconds", seconds)
        self._usage.sample()

    def _on_store_trouble(self, trouble: str) -> None:
        """In the store's thread."""
        if trouble:
            text = f"{trouble}; no new drain is begun until it can be written"
            self.context.log.error("state.degraded", msg=text)
        else:
            self.context.log.info("state.recovered", msg="state.db is written again")

    def _audit_file(self, settings: ShardSettings) -> AuditFile | None:
        journal, times = settings.journal, self.context.times
        if not journal.audit_log:
            return None
        return AuditFile(
            self._data_dir / journal.audit_log,
            journal.audit_rotate,
            journal.audit_files,
            self._on_audit_trouble,
            in_real_time=times.text_told if times is not None else None,
        )

    def _on_audit_trouble(self, trouble: str) -> None:
        """In the writer's thread."""
        if trouble:
            self.context.log.error("audit.degraded", msg=f"audit lines are lost: {trouble}")
        else:
            self.context.log.info("audit.recovered", msg="the audit log is written again")


def provider_addresses(given: tuple[str, ...]) -> dict[str, str]:
    """`name=host:port` each; without a name, the address is the name."""
    addresses: dict[str, str] = {}
    for each in given:
        name, equals, address = each.rpartition("=")
        addresses[name if equals else address] = address
    return addresses


def _ownership(settings: ShardSettings, stored: Mapping[str, bytes]) -> Ownership:
    """What an earlier life was given; one that owned everything it saw was given nothing."""
    assigned = settings.ownership == "assigned" or (
        settings.ownership == "auto" and bool(settings.coordinator_addr)
    )
    if not assigned:
        return Ownership(settings.id)
    known, _ = ownership_of(settings.id, stored.get(OWNERSHIP))
    return known
