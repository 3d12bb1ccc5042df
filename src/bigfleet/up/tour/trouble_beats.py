"""Beats 5 to 9: preemption, a spot wave, a stock-out, a dead shard, empty Lists and roll-ups."""

from collections import Counter
from collections.abc import Callable

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import dollars_text
from bigfleet.model.shard_views import QuarantineKind
from bigfleet.sim.workloads import BATCH, SECURE_KEY, SHOP
from bigfleet.up.tour.demands import Demands
from bigfleet.up.tour.instructions import AskFor, SendEmptyRollup, SimVerb, StartShard, StopShard
from bigfleet.up.tour.seen import FleetSeen
from bigfleet.up.tour.sentences import bought, idle_taken, machines_text, of_cluster, sorts_text
from bigfleet.up.tour.supply_beats import settled
from bigfleet.up.tour.tour import Beat, Impossible, Playing, Wait

#: Nodes of the critical work.
_CRITICAL = 12
#: Spot machines that batch is to have before some are taken away.
_SPOT = 40
_WAVE_FRACTION, _NOTICE = 0.3, "5s"
#: How often the cheapest offering is sold out, and for how long each is waited for.
_STOCK_ROUNDS, _STOCK_PATIENCE = 5, 40 * SECOND
#: Empty Lists: fewer than a shard believes, however long they take on a busy machine.
_EMPTY_LISTS = 2
#: The whole market, again without end.
STOCK_BACK = SimVerb("stock", ("capacity=Spot", "inf"))


def preemption(demands: Demands) -> Callable[[FleetSeen], Playing]:
    secure = (SECURE_KEY, "yes")

    def play(_: FleetSeen) -> Playing:
        full = (*demands.shop(120), demands.scan())
        asked = demands.checkout(_CRITICAL)

        def is_full(seen: FleetSeen) -> bool:
            lower = seen.ids(MachineState.CONFIGURED, BATCH, label=secure)
            free = seen.ids(MachineState.IDLE, label=secure)
            return not free and len(lower) >= demands.nodes(_CRITICAL) and seen.serves(SHOP)

        yield Wait(
            "no machine with a security module is free, and batch has enough of them",
            is_full,
            (AskFor(full),),
            instead=lambda seen: f"{len(seen.ids(MachineState.IDLE, label=secure))} are free",
        )
        most = 0

        def is_covered(seen: FleetSeen) -> bool:
            nonlocal most
            most = max(most, seen.reservations)
            return seen.serves(SHOP) and bool(seen.started(ActionKind.PREEMPT))

        seen = yield Wait(
            "critical work of shop has taken machines and runs",
            is_covered,
            (AskFor((*full, asked)),),
        )
        taken = seen.started(ActionKind.PREEMPT)
        lost = Counter(each.cluster for each in taken)
        victims = " and ".join(f"{count:,} from {name}" for name, count in sorted(lost.items()))
        declared = dollars_text(round(sum(each.declared_dollars for each in taken), 2))
        kept = f" While they drained, up to {most:,} were reserved for it." if most else ""
        return (
            f"Critical work of shop (priority 1,000,000) runs only on machines with a security "
            f"module, and none was free: {machines_text(len(taken))} were preempted, {victims}."
            f"{kept} Statement: caused by shop, borne by {' and '.join(sorted(lost))}, {declared} "
            "declared; nothing of it is billed."
        )

    return play


def spot_wave(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def spot_of(seen: FleetSeen) -> frozenset[str]:
        return seen.ids(MachineState.CONFIGURED, BATCH, CapacityType.SPOT)

    def play(_: FleetSeen) -> Playing:
        seen = yield from settled(demands)
        wanted = demands.nodes(_SPOT)
        large = _on_spot(demands, seen, wanted)
        seen = yield Wait(
            f"batch has {wanted // 2} spot machines at least, and every pod runs",
            lambda seen: seen.is_served and len(spot_of(seen)) >= wanted // 2,
            (large,),
            instead=lambda seen: f"it has {len(spot_of(seen))}; {seen.why_not_served()}",
        )
        had, mark = spot_of(seen), len(seen.decided)
        words = ("capacity=Spot", f"{_WAVE_FRACTION:g}", _NOTICE)
        seen = yield Wait(
            "machines are gone and every pod runs elsewhere",
            lambda seen: bool(had - spot_of(seen)) and seen.is_served,
            (SimVerb("interrupt", words),),
        )
        lost = had - spot_of(seen)
        since = of_cluster(seen.decided[mark:], BATCH)
        took, buys = idle_taken(since), bought(since)
        cover = [f"{len(took):,} idle machines"] if took else []
        cover += [f"{len(buys):,} new ones ({sorts_text(buys)})"] if buys else []
        return (
            f"{_share_text(seen)}: {machines_text(len(lost))} of batch went with "
            f"{_NOTICE.removesuffix('s')} s of notice. Its pods run again, on "
            f"{' and '.join(cover) or 'the machines that it had left'}."
        )

    return play


def _on_spot(demands: Demands, seen: FleetSeen, spot: int) -> AskFor:
    """So much of batch that owned and idle machines do not do, and about so many are bought."""
    there = seen.count(MachineState.CONFIGURED, BATCH) + seen.count(MachineState.IDLE)
    return AskFor((*demands.shop(120), *demands.batch_of(there + spot)))


def _share_text(seen: FleetSeen) -> str:
    told = seen.answers.get("interrupt")
    if isinstance(told, dict):
        return f"The cloud called back {told.get('machines')} of {told.get('of')} spot machines"
    return "The cloud called spot machines back"


def stock_out(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def play(seen: FleetSeen) -> Playing:
        seen = yield from settled(demands)
        for _ in range(_STOCK_ROUNDS):
            seen = yield _out_of_the_cheapest(demands, seen)
            if seen.offerings:
                return _stock_out_text(seen)
        raise Impossible("whatever was bought came from other offerings")

    return play


def _out_of_the_cheapest(demands: Demands, before: FleetSeen) -> Wait:
    """More of batch than there are machines, and the spot that it would get has run out."""
    found = before.cheapest_slot(CapacityType.SPOT)
    if found is None:
        raise Impossible("there is no spot machine left to buy")
    cheapest, _ = found
    select = f"type={cheapest.instance_type} zone={cheapest.zone} capacity=Spot"

    def has_ended(seen: FleetSeen) -> bool:
        passed = seen.at - before.at > _STOCK_PATIENCE
        return seen.is_served and (bool(seen.offerings) or passed)

    return Wait(
        f"{cheapest.instance_type} spot in zone {cheapest.zone}, the cheapest, has run out, and "
        "every pod runs all the same",
        has_ended,
        (SimVerb("stock", (select, "0")), _on_spot(demands, before, demands.nodes(20))),
        instead=lambda seen: f"{len(seen.offerings)} offerings rest; {seen.why_not_served()}",
    )


def _stock_out_text(seen: FleetSeen) -> str:
    rests = seen.offerings[0]
    seconds = max(0, rests.next_probe_at - seen.at) / SECOND
    buys = bought(of_cluster(seen.decided, BATCH))
    has = seen.ids(MachineState.CONFIGURED, BATCH)
    got = [each for each in buys if each.machine in has]
    return (
        f"{rests.name} ran out ({rests.kind}) and rests for every cluster at once; it is tried "
        f"again in {seconds:.0f} s. {len(buys) - len(got):,} of {machines_text(len(buys), 'order')}"
        f" came to nothing, the next best was bought instead: {sorts_text(got) or 'nothing'}."
    )


def _lasting(seen: FleetSeen) -> frozenset[str]:
    """Machines in use that are not being given back and that no cloud may call back."""
    stay = frozenset[str]().union(*(c.nodes - c.leaving for c in seen.clusters.values()))
    return (seen.in_use & stay) - seen.ids(capacity=CapacityType.SPOT)


def dead_shard(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def play(_: FleetSeen) -> Playing:
        seen = yield from settled(demands)
        before, epoch = _lasting(seen), seen.epoch
        nodes = {name: each.nodes for name, each in seen.clusters.items()}
        running = sum(each.running for each in seen.clusters.values())

        def all_alone(seen: FleetSeen) -> bool:
            return not seen.is_up and not any(c.connected for c in seen.clusters.values())

        seen = yield Wait(
            "the shard is gone and no cluster has a session",
            all_alone,
            (StopShard(),),
            instead=lambda seen: "the shard answers" if seen.is_up else "sessions are open",
        )
        alone = sum(each.running for each in seen.clusters.values())
        kept = all(nodes[name] & before <= each.nodes for name, each in seen.clusters.items())
        seen = yield Wait(
            "the shard is back, every cluster is connected, and every need is met",
            lambda seen: seen.epoch > epoch and seen.is_served,
            (StartShard(),),
        )
        moved = before - seen.bound
        if moved or not kept:
            raise Impossible(
                f"{machines_text(len(moved))} of {len(before):,} left their clusters, or a Node "
                "changed while the shard was gone"
            )
        return (
            f"The shard was gone and {alone:,} of {running:,} pods ran on, on the same Nodes. It "
            f"came back with epoch {seen.epoch}, read its state and the provider's List, and all "
            f"{machines_text(len(before))} in use, spot aside, are where they were: none moved."
        )

    return play


def empty_answers(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def held(seen: FleetSeen, kind: QuarantineKind, subject: str = "") -> str:
        """What was seen, of the first such quarantine; empty: there is none."""
        found = [q for q in seen.quarantines if q.kind is kind and subject in ("", q.subject)]
        return (found[0].what or f"{found[0].observed} after {found[0].baseline}") if found else ""

    def play(_: FleetSeen) -> Playing:
        seen = yield from settled(demands)
        machines = len(seen.snapshot)
        needed = len(seen.in_use & seen.ids(MachineState.CONFIGURED, SHOP))
        told: dict[QuarantineKind, str] = {}

        def both_held(seen: FleetSeen) -> bool:
            for kind, subject in _HELD:
                told[kind] = told.get(kind) or held(seen, kind, subject)
            return all(told.values())

        yield Wait(
            "the empty List and the empty roll-up are both held back",
            both_held,
            (SimVerb("list-empty", (str(_EMPTY_LISTS),)), SendEmptyRollup(SHOP)),
            (SimVerb("list-empty", ("1",)), SendEmptyRollup(SHOP)),
            instead=lambda seen: f"{len(seen.quarantines)} are held back",
        )
        seen = yield Wait(
            "true answers have come again and nothing is held back",
            lambda seen: not any(held(seen, *each) for each in _HELD) and seen.is_served,
            instead=lambda seen: f"{len(seen.quarantines)} are held back",
        )
        has = seen.count(MachineState.CONFIGURED, SHOP)
        if has < needed or len(seen.snapshot) != machines:
            raise Impossible(
                f"shop has {has:,} of {machines_text(needed)}, and {len(seen.snapshot):,} of "
                f"{machines:,} are known"
            )
        return (
            f"The provider listed nothing ({told[QuarantineKind.PROVIDER_LIST]}) and shop asked "
            f"for nothing ({told[QuarantineKind.ROLLUP]}). Both were held in quarantine: all "
            f"{machines:,} machines are known, and shop kept all {needed:,} that it needs."
        )

    return play


_HELD = ((QuarantineKind.PROVIDER_LIST, ""), (QuarantineKind.ROLLUP, SHOP))


def trouble_beats(demands: Demands) -> list[Beat]:
    return [
        Beat(
            "critical",
            "Critical work on a full fleet",
            "Higher work takes machines from lower, which are reserved for it while they drain.",
            preemption(demands),
        ),
        Beat(
            "spot",
            "A spot wave",
            "The cloud calls back 30 % of the spot machines, and others take over.",
            spot_wave(demands),
        ),
        Beat(
            "stockout",
            "A stock-out",
            "The cheapest offering runs out: it rests, and the next best is bought.",
            stock_out(demands),
            (STOCK_BACK,),
        ),
        Beat(
            "shard",
            "The shard dies",
            "Clusters run on without it; it comes back, and nothing has moved.",
            dead_shard(demands),
            (StartShard(),),
        ),
        Beat(
            "empty",
            "Empty answers",
            "The provider lists nothing and a cluster asks for nothing: neither is believed.",
            empty_answers(demands),
        ),
    ]
