"""What each reason code means to the person who meets it: where to look, and what to do.

One table for the page docs/troubleshooting.md, for `bigfleet why` and for `why-not`. It has every
code of model/reasons.py; a test says which one is missing.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    #: What is the case, for a person who has never met the code.
    meaning: str
    #: Commands that show it.
    see: tuple[str, ...]
    #: What a person can do about it; begins with "nothing" where nothing has to be done.
    todo: str


def advice_on(code: str) -> Advice | None:
    """None: a code of another version."""
    return ADVICE.get(code)


_STATUS = ("bigfleet status",)
_WHY_NEED = ("bigfleet why need/CLUSTER/ID",)
_WHY_MACHINE = ("bigfleet why machine/ID",)
_WHY_ACTION = ("bigfleet why action/CYCLE.INDEX",)
_NEEDS = ("bigfleet needs --unmet",)
_TRANSFERS = ("bigfleet shards transfers",)
_SHORTFALLS = ("bigfleet shards shortfalls",)
_QUARANTINES = ("bigfleet quarantines",)

_RAILS = {
    "rail.paused": Advice(
        "The action was decided, and a pause keeps it from being carried out. A pause holds"
        " everything, one cluster or one kind of action, and says who set it, why and until when.",
        ("bigfleet pause list", "bigfleet status"),
        "ask the owner of the pause, then lift it: bigfleet resume ID --reason WHY. A pause of the"
        " flag --actuation-paused ends with a restart without it, one of a pause file when the file"
        " is removed",
    ),
    "rail.dry-run": Advice(
        "The shard decides and writes down what it would do, and carries out nothing.",
        _STATUS,
        "set dry_run: false for the shard and send it SIGHUP",
    ),
    "rail.reclaim-cap": Advice(
        "More machines of a cluster are in excess than may be reclaimed at a time. The rest follow"
        " in later cycles.",
        (*_STATUS, *_WHY_ACTION),
        "nothing: the rest is reclaimed in the next windows. If the demand should not have fallen,"
        " pause the cluster first: bigfleet pause --cluster CLUSTER --reason WHY. The limit is"
        " shard.rails.reclaim_cap_fraction",
    ),
    "rail.preempt-cap": Advice(
        "A cluster loses only so many machines a minute to Needs of higher priority; the rest of"
        " the victims wait.",
        (*_NEEDS, *_WHY_ACTION),
        "wait: more victims may drain in the next minute. The limit is"
        " shard.rails.preempt_cap_per_minute",
    ),
    "rail.quarantine.rollup": Advice(
        "The last roll-up of the cluster asks for far less than the one before. It is held, the"
        " demand before it stays in force, and nothing is reclaimed because of it.",
        _QUARANTINES,
        "ask the cluster whether its demand is really gone; if so, let it through: bigfleet"
        " quarantines release. It is also believed after it came several times in a row",
    ),
    "rail.quarantine.list": Advice(
        "The last List of a provider lacks far more machines than usual, or binds many to other"
        " clusters. It is held, and the machines stay as they were.",
        _QUARANTINES,
        "look at the provider; if the machines are really gone, let the List through: bigfleet"
        " quarantines release. It is also believed after it came several times in a row",
    ),
    "rail.first-rollup": Advice(
        "The cluster has said nothing since the shard started, so what it needs is not known and"
        " none of its machines is taken as excess.",
        ("bigfleet clusters show CLUSTER",),
        "start the operator of the cluster, or see why it does not connect",
    ),
    "rail.verifier": Advice(
        "A second check, which shares no code with the engine, refused the action: a freeze window,"
        " the spend ceiling or the limit of Reclaims per zone holds it, or an invariant is broken.",
        ("bigfleet reports verifier", *_WHY_ACTION),
        "read which invariant it names: V6, V7 and V8 are your own policies (bigfleet reports"
        " verifier shows and changes them); any other is a defect: keep the journal and report it"
        " with bigfleet replay DIR --redact OUT",
    ),
    "rail.pending": Advice(
        "An earlier action about the same machine is still under way, so this one is not started"
        " beside it.",
        ("bigfleet machines story ID",),
        "nothing: it is decided again when the earlier action has ended. If that takes long, the"
        " story of the machine says what it waits for",
    ),
    "rail.raced": Advice(
        "The machine changed its state between the decision and its execution.",
        ("bigfleet machines story ID",),
        "nothing: the next cycle decides on the state it has now",
    ),
    "rail.breaker": Advice(
        "The provider failed to answer several times in a row, and is asked for nothing new until"
        " it answers again. Machines in use stay in use.",
        ("bigfleet status", "bigfleet providers"),
        "bring the provider back: its process, its certificate, the network between. It is asked"
        " again by itself",
    ),
    "rail.no-operator": Advice(
        "The operator of the cluster is not connected, so there is nothing a machine could join the"
        " cluster with.",
        ("bigfleet clusters show CLUSTER",),
        "start the operator of the cluster; its log says why it does not connect",
    ),
    "rail.backoff": Advice(
        "Something failed, and its subject (a machine, an offering, a cluster's bootstrap) rests"
        " before it is tried again.",
        ("bigfleet reports offerings", "bigfleet machines story ID"),
        "wait until the rest is over, or remove the cause and reset an offering: bigfleet reports"
        " offerings --reset NAME --reason WHY",
    ),
    "rail.unseen": Advice(
        "The last Lists of the provider did not name the machine. It may be gone, so nothing is"
        " done with it.",
        ("bigfleet quarantines", "bigfleet machines story ID"),
        "see whether the provider still has it; it is forgotten when enough Lists lack it",
    ),
    "rail.rebound": Advice(
        "A List that is held shows the machine bound to another cluster than this shard bound it"
        " to. Until that is decided it is left alone.",
        _QUARANTINES,
        "see at the provider who changed the binding, then decide: bigfleet quarantines release",
    ),
    "rail.unowned": Advice(
        "The machine belongs to another shard since the decision was made.",
        ("bigfleet domains", "bigfleet shards transfers"),
        "nothing: the other shard decides about it now",
    ),
    "rail.quota": Advice(
        "All machines the coordinator granted this shard of a provider's region are in use.",
        ("bigfleet quotas list",),
        "raise the quota, if the provider allows it: bigfleet quotas set; or free machines there",
    ),
    "rail.no-session": Advice(
        "The operator of the cluster is not connected, and a machine is drained by the cluster that"
        " has it; its Reclaims wait.",
        ("bigfleet clusters show CLUSTER",),
        "start the operator of the cluster; or let the provider drain without it:"
        " shard.drain.reclaim_without_session: provider",
    ),
    "rail.store": Advice(
        "state.db cannot be written. A drain that could not be remembered is not begun.",
        _STATUS,
        "make the disk of the shard's data_dir writable: free space on it, or correct its rights",
    ),
    "rail.journal": Advice(
        "The journal cannot be written, such as on a full disk. Decisions go on; the cycles that"
        " are not recorded cannot be replayed or explained later, and are told as a gap.",
        _STATUS,
        "free space on the disk of the shard's data_dir, or correct its rights; it is tried again"
        " with every cycle",
    ),
    "rail.coordinator": Advice(
        "The shard does not reach its coordinator. It goes on with the machines, quotas and pauses"
        " it knows of; nothing moves to or from it.",
        ("bigfleet status", "bigfleet shards"),
        "bring the coordinator back: its process, its certificate, the network between",
    ),
    "rail.rollup-refused": Advice(
        "Roll-ups of clusters break the protocol or its limits. The last one that was taken stays"
        " in force.",
        ("bigfleet clusters", "bigfleet clusters show CLUSTER"),
        "read what is refused and why, and correct it in the operator or its cluster",
    ),
    "rail.verifier-broken": Advice(
        "The check of plans fails itself. What is acquired passes; nothing is reclaimed, preempted"
        " or deleted until it works.",
        ("bigfleet reports verifier",),
        "keep the journal and report it with bigfleet replay DIR --redact OUT; a restart of the"
        " shard starts the check anew",
    ),
    "rail.max-actions": Advice(
        "More actions were decided than may be started in one cycle; the most urgent came first.",
        _STATUS,
        "nothing: the next cycle follows at once. The limit is shard.max_actions_per_cycle",
    ),
    "rail.queue-full": Advice(
        "The queue of actions is full; the most urgent came first.",
        _STATUS,
        "nothing if it passes; else the provider is slow: see its latency in the metrics, or raise"
        " shard.execute.concurrency",
    ),
    "rail.thrash-hold": Advice(
        "Machines of this kind went back and forth, so none of them is reclaimed or deleted for a"
        " while. Needs still get machines.",
        ("bigfleet reports thrash", *_WHY_ACTION),
        "find what makes the demand swing, such as a deployment that scales up and down; the hold"
        " ends by itself",
    ),
}

_REBALANCE = {
    "rebalance.off": Advice(
        "Machines do not move between shards at all.",
        (*_SHORTFALLS, "bigfleet pause list"),
        "set coordinator.rebalance.enabled: true, or lift the pause: bigfleet resume ID --reason"
        " WHY; after a restore it begins by itself",
    ),
    "rebalance.age": Advice(
        "The Need has not been short for long; most shortages end by themselves.",
        _SHORTFALLS,
        "nothing: it is helped if it is still short later. The age is"
        " coordinator.rebalance.age_cycles",
    ),
    "rebalance.persistence": Advice(
        "The shard has named the shortage only once; it must name it twice in a row.",
        _SHORTFALLS,
        "nothing: the next report decides",
    ),
    "rebalance.topology": Advice(
        "The pods of the Need must stand together in one domain, and a domain is never split"
        " between shards.",
        (*_SHORTFALLS, *_WHY_NEED),
        "give the shard a whole domain that is large enough: bigfleet domains assign",
    ),
    "rebalance.receiver": Advice(
        "The shard that is short cannot take machines now.",
        (*_SHORTFALLS, "bigfleet shards"),
        "see the shard: it is silent or paused, and the sentence says which",
    ),
    "rebalance.open": Advice(
        "A transfer for this shortage is under way, or has just ended.",
        (*_SHORTFALLS, *_TRANSFERS),
        "nothing: see it with bigfleet shards transfers",
    ),
    "rebalance.sweep": Advice(
        "No sweep has looked at the shortage yet: a leader is new, or one sweep had more to do than"
        " it may.",
        _SHORTFALLS,
        "nothing: ask again after coordinator.rebalance.interval",
    ),
    "rebalance.cooldown": Advice(
        "The shortage was helped a moment ago; what it got has to count first.",
        _SHORTFALLS,
        "nothing: it is looked at again after coordinator.rebalance.cooldown",
    ),
    "rebalance.progress": Advice(
        "Several transfers in a row did not make the shortage smaller, so machines that arrive are"
        " not what the Need lacks.",
        (*_SHORTFALLS, *_TRANSFERS, *_WHY_NEED),
        "ask why the Need is short in its shard: bigfleet why need/CLUSTER/ID",
    ),
    "rebalance.donor": Advice(
        "No other shard has machines that may match, or the one that has them cannot give now.",
        (*_SHORTFALLS, "bigfleet reports", "bigfleet shards"),
        "add machines or offerings that fit",
    ),
    "rebalance.declined": Advice(
        "A shard was asked and had nothing to give.",
        (*_SHORTFALLS, *_TRANSFERS),
        "nothing: it is asked again after coordinator.rebalance.decline_rest",
    ),
    "rebalance.direction": Advice(
        "Machines of this kind moved the other way a moment ago; none goes back so soon.",
        (*_SHORTFALLS, *_TRANSFERS),
        "nothing: the lock ends after coordinator.rebalance.direction_lock",
    ),
    "rebalance.margin": Advice(
        "The other shard keeps a few such machines for its own demand, or is short itself.",
        (*_SHORTFALLS, "bigfleet reports"),
        "add machines that fit; the margin is coordinator.rebalance.donor_margin_machines and"
        " donor_margin_fraction",
    ),
    "rebalance.rate": Advice(
        "The other shard has given as many machines within an hour as it may.",
        _SHORTFALLS,
        "wait, or raise coordinator.rebalance.donor_rate",
    ),
    "rebalance.stay": Advice(
        "The machine was moved a short while ago and stays where it is.",
        ("bigfleet domains",),
        "nothing: it may move after coordinator.rebalance.min_stay",
    ),
    "rebalance.elsewhere": Advice(
        "The machine is part of another transfer, or not in a state in which it can move.",
        _TRANSFERS,
        "nothing: the transfer ends, or is given up, by itself",
    ),
    "rebalance.drain": Advice(
        "Machines in use would have to be drained to help, and that is off, too early, or has"
        " reached its limit for this sweep.",
        _SHORTFALLS,
        "wait, or see coordinator.rebalance.drain, drain_age_cycles and max_drain_per_sweep",
    ),
    "rebalance.idle": Advice(
        "A machine that was moved here is idle, and goes home when it has been idle for longer.",
        ("bigfleet domains",),
        "nothing: it goes home after coordinator.rebalance.return_after",
    ),
}

_SHAPE = {
    "same.no-domain": Advice(
        "The pods must stand together in one domain (a rack, a zone), and no domain has a single"
        " machine that is free or already theirs.",
        _WHY_NEED,
        "add machines that have the label the sentence names, in one domain; or ask for a wider"
        " domain, such as the zone instead of the rack",
    ),
    "same.too-small": Advice(
        "The pods must stand together in one domain, and even the best domain holds only a part of"
        " them.",
        _WHY_NEED,
        "add machines to that domain, ask for a smaller gang, or for a wider domain, such as the"
        " zone instead of the rack",
    ),
    "same.parked": Advice(
        "The gang made no progress for several cycles. It keeps what it has, takes nothing more and"
        " is tried again now and then, so that machines do not wait for it idle.",
        _WHY_NEED,
        "make room in one domain, or ask for less; it is tried again by itself every"
        " shard.engine.parking_probe cycles",
    ),
    "spread.skew": Advice(
        "The pods must be spread evenly, and the machines that are free stand where the Need"
        " already has most.",
        _WHY_NEED,
        "add machines in the domain that has least, or allow a larger skew (ScheduleAnyway)",
    ),
}

_SUPPLY = {
    "supply.none": Advice(
        "No machine of the shard that could be had fits: none at all, all in use, or those that fit"
        " are held.",
        (*_WHY_NEED, "bigfleet why-not machine/ID --for need/CLUSTER/ID"),
        "add machines or offerings that fit, or ask for less; where machines are held, bigfleet"
        " quarantines says what holds them",
    ),
    "supply.requirement": Advice(
        "Machines fail a requirement of the Need: a label they do not have, or have with another"
        " value.",
        (*_WHY_NEED, "bigfleet why-not machine/ID --for need/CLUSTER/ID"),
        "add machines or offerings that have the label, or ask for another value; a misspelt value"
        " is the usual cause",
    ),
    "supply.min-unit": Advice(
        "Machines match but are too small: one pod, or one indivisible part of the Need, fits on"
        " none of them.",
        (*_WHY_NEED, "bigfleet why-not machine/ID --for need/CLUSTER/ID"),
        "add a larger machine type, or ask for smaller pods; allocatable is what counts, not the"
        " size on the price list",
    ),
    "supply.backoff": Advice(
        "Offerings that fit are sold out, or failed lately, and rest before they are tried again.",
        ("bigfleet reports offerings", *_WHY_NEED),
        "wait for the next try, allow other types or zones, or, when the provider has stock again:"
        " bigfleet reports offerings --reset NAME --reason WHY",
    ),
    "supply.quota": Advice(
        "Offerings that fit are beyond what the fleet may hold of a provider's region.",
        ("bigfleet quotas list", *_WHY_NEED),
        "raise the quota: bigfleet quotas set --provider NAME --region REGION --total TOTAL"
        " --reason WHY; or allow another region",
    ),
}

_LOSSES = {
    "machines.failed": Advice(
        "Machines are Failed: their provider says so, or a step took longer than its deadline.",
        ("bigfleet machines --failed",),
        "run the command that bigfleet machines --failed names for each; most come back by"
        " themselves",
    ),
    "machines.lost": Advice(
        "Machines that served clusters went within the last quarter of an hour: their provider took"
        " them back, calls them Failed or lists them no more. A wave of Spot machines looks so.",
        ("bigfleet status", *_NEEDS),
        "nothing: they are replaced by themselves, cheapest first. A higher interruption penalty"
        " keeps a workload from Spot machines",
    ),
    "nodes.lost": Advice(
        "Machines run for their provider, and their clusters have no usable Node of them: it never"
        " joined, is gone, or stays unhealthy. They are given back, a fifth of a cluster at once.",
        ("bigfleet status", "bigfleet machines story ID"),
        "nothing: they are replaced by themselves. If many go, see in the cluster who deletes Nodes"
        " or why they are not ready",
    ),
    "needs.waiting": Advice(
        "Needs are blocked or short, or pods of theirs are stuck.",
        _NEEDS,
        "do what bigfleet needs --unmet names for each of them",
    ),
}

_ON_ITS_WAY = {
    "flight.ordered": Advice(
        "Machines are ordered for the Need and wait for their turn.",
        ("bigfleet machines --cluster CLUSTER",),
        "nothing: wait. bigfleet status shows the queue",
    ),
    "flight.creating": Advice(
        "Machines are being created by their provider.",
        ("bigfleet machines --cluster CLUSTER",),
        "nothing: wait. bigfleet machines story ID says how long it has taken",
    ),
    "flight.configuring": Advice(
        "Machines exist and are being made part of the cluster.",
        ("bigfleet machines --cluster CLUSTER",),
        "nothing: wait. bigfleet machines story ID says how long it has taken",
    ),
    "flight.joining": Advice(
        "Machines are Configured, and their Nodes are not there yet or not ready.",
        ("bigfleet clusters show CLUSTER",),
        "nothing if it passes; else see in the cluster why the Nodes do not join or get ready",
    ),
    "flight.stalled": Advice(
        "Nothing of what is on its way has moved for far longer than such a step takes.",
        ("bigfleet machines story ID",),
        "read the story of the machine the sentence names, and look at its provider; after the"
        " deadline it is Failed and another one is taken",
    ),
    "flight.failing": Advice(
        "Actions for the Need failed several times in a row.",
        ("bigfleet machines story ID", "bigfleet machines --failed"),
        "read the provider's error in the story of the machine the sentence names, and remove its"
        " cause; bigfleet machines clear helps a Failed machine out",
    ),
    "flight.draining": Advice(
        "Machines of Needs of lower priority are being drained for this one.",
        ("bigfleet machines reservations", *_WHY_NEED),
        "nothing: they are free when their pods are gone, or at the end of the grace",
    ),
    "flight.reserved": Advice(
        "Machines that fit are reserved: for this Need while its victims drain, or for another.",
        ("bigfleet machines reservations",),
        "nothing: a reservation ends when it is used, or soon after its time",
    ),
    "pods.margin": Advice(
        "Pods did not fit on the machines the Need has, although their sums do; more machines are"
        " on their way.",
        ("bigfleet clusters show CLUSTER",),
        "nothing: wait",
    ),
    "pods.stuck": Advice(
        "All machines of the Need are there, and the scheduler of the cluster still refuses pods.",
        ("bigfleet clusters show CLUSTER",),
        "read what the scheduler says of the pods: taints, volumes, ports and affinities are not"
        " BigFleet's to decide",
    ),
}

_CONTENTION = {
    "claim.higher": Advice(
        "Machines that fit serve Needs of higher precedence, or a Need of higher priority takes"
        " this machine now.",
        (*_WHY_NEED, *_WHY_MACHINE),
        "add machines or offerings that fit, ask for less, or give the Need a higher priority; what"
        " the one ahead would lose is in bigfleet whatif --priority",
    ),
    "claim.earlier": Advice(
        "Machines that fit serve Needs of the same precedence which came first; equals do not take"
        " from each other.",
        _WHY_NEED,
        "add machines or offerings that fit, ask for less, or give the Need a higher priority",
    ),
    "preempt.exhausted": Advice(
        "Every machine of lower priority that fits is taken already, and the Need is still short.",
        _WHY_NEED,
        "add machines or offerings that fit, or ask for less; a higher priority helps only if there"
        " are machines below it that fit",
    ),
    "preempt.none-lower": Advice(
        "Machines in use would fit, and none of them serves a lower priority.",
        _WHY_NEED,
        "add machines or offerings that fit, or give the Need a priority above the lowest one the"
        " sentence names",
    ),
}

_ECONOMY = {
    "cost.rank": Advice(
        "The machine was chosen as one of the cheapest that fit, by effective cost: price plus the"
        " chance of an interruption times its declared penalty.",
        (*_WHY_ACTION, *_WHY_NEED),
        "nothing. If another should have been chosen: bigfleet why-not machine/ID --for"
        " need/CLUSTER/ID",
    ),
    "keep.order": Advice(
        "The Need is served by machines its cluster already has, the cheapest kept first.",
        (*_WHY_MACHINE, *_WHY_NEED),
        "nothing: it is served",
    ),
    "hold.idle": Advice(
        "The Need is gone and the machine has been idle for longer than machines of its capacity"
        " type are kept: it is given back.",
        (*_WHY_MACHINE, "bigfleet why-not machine/ID"),
        "nothing. To keep such machines for longer set shard.release.on_demand or"
        " shard.release.spot",
    ),
    "never.released": Advice(
        "Owned and reserved machines are paid for anyway; they stay Idle for the next Need.",
        ("bigfleet why-not machine/ID",),
        "nothing",
    ),
    "excess": Advice(
        "The cluster asks for less than it has, and the machine comes after those that are kept.",
        (*_WHY_MACHINE, *_WHY_ACTION),
        "nothing if the demand has really fallen. If not: bigfleet pause --cluster CLUSTER --reason"
        " WHY, then see its roll-up with bigfleet clusters show CLUSTER",
    ),
}

ADVICE: dict[str, Advice] = {
    **_RAILS,
    **_REBALANCE,
    **_SHAPE,
    **_SUPPLY,
    **_LOSSES,
    **_ON_ITS_WAY,
    **_CONTENTION,
    **_ECONOMY,
}
