"""Why something is as it is: the answers of `bigfleet why` and `why-not`, as JSON."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.routing import Route

from bigfleet.model.counterfactuals import CounterfactualAnswer, CounterfactualCall
from bigfleet.model.explanations import ExplainNeedCall, NeedExplanation
from bigfleet.model.machine_answers import (
    CycleCall,
    DecisionQuery,
    MachineAnswer,
    MachineCall,
    WhyNot,
    WhyNotCall,
    WhyNotQuestion,
)
from bigfleet.model.needs import NeedKey
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import StoryCall
from bigfleet.model.shard_views import NeedQuery
from bigfleet.web.answers import queried_at
from bigfleet.web.decision_documents import decision_document
from bigfleet.web.fleet import (
    DEADLINE_SECONDS,
    PAST_SECONDS,
    Answers,
    Fleet,
    NamedQuestion,
    not_found,
)
from bigfleet.web.further_schemas import Why
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.past import cycle_in, epoch_of
from bigfleet.web.problems import Problem, bad
from bigfleet.web.routes.machines import nearest
from bigfleet.wire import counterfactuals
from bigfleet.wire.explanations import NEED_EXPLANATION
from bigfleet.wire.machine_answers import MACHINE_ANSWER, why_not_document
from bigfleet.wire.shard_admin import WHAT_IF_DEADLINE, ShardAdminClient
from bigfleet.wire.shard_views import EVENT

_FORMS = "need/CLUSTER/ID, machine/ID, action/CYCLE.INDEX or cluster/ID"
_MOST_CANDIDATES = 1_000
_MOST_EVENTS = 20
_MOST_DECISIONS = 12
#: Milliseconds that a search for changes may take unless said, and at most.
_BUDGET, _MOST_BUDGET = 2_000, 30_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WhyRoutes:
    fleet: Fleet

    async def why(self, asked: Asked) -> dict[str, Any]:
        kind, _, name = asked.text("object").partition("/")
        if not name or kind not in ("need", "machine", "action", "cluster"):
            said = asked.text("object")[:200]
            if kind in ("pod", "cr"):
                raise Problem(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"{said} is asked for at the API server of its cluster, which no page reaches",
                    field="object",
                    remedy=f"bigfleet why {said} --kube-context CONTEXT",
                )
            raise bad("object", f"{said!r} is not an object; write {_FORMS}")
        versus = asked.text("versus")
        if asked.flag("counterfactual"):
            if kind != "need":
                raise bad("counterfactual", f"it is about a Need that is short, not a {kind}")
            told = await self._counterfactual(asked, name)
        elif versus or asked.flag("not"):
            told = await self._why_not(asked, kind, name, versus)
        elif kind == "need":
            told = await self._need(asked, name)
        elif kind == "machine":
            told = await self._machine(asked, name)
        elif kind == "action":
            told = await self._action(asked, name)
        else:
            told = await self._cluster(asked, name)
        return {**told, "queriedAt": queried_at(self.fleet.clock.now())}

    async def _need(self, asked: Asked, name: str) -> dict[str, Any]:
        shard, told, cycle = await self._explained(asked, name, asked.lenient_number("candidates"))
        return {**NEED_EXPLANATION.document(told), "cycleName": cycle, "shardId": shard}

    async def _explained(
        self, asked: Asked, name: str, candidates: int
    ) -> tuple[str, NeedExplanation, str]:
        """The shard that decided about it last."""
        cluster, _, prefix = name.rpartition("/")

        async def look(_shard: str, client: ShardAdminClient) -> tuple[NeedExplanation, str]:
            epoch, cycle = await _cycle_of(client, asked)
            call = ExplainNeedCall(NeedKey(cluster, "", ""), cycle, candidates, prefix)
            told = await client.explain_need(call)
            return told, f"{epoch}:{told.cycle}"

        found = await self._known(look, "need", name, asked)
        keys = {told.view.need.key for told, _ in found.said.values()}
        if len(keys) > 1:
            names = ", ".join(sorted(f"need/{key.cluster}/{key.need_id}" for key in keys))
            raise bad("object", f"{len(keys)} needs begin with {prefix[:100]}: {names}")
        shard = max(found.said, key=lambda each: found.said[each][0].decided_at or 0)
        told, cycle = found.said[shard]
        return shard, told, cycle

    async def _counterfactual(self, asked: Asked, name: str) -> dict[str, Any]:
        shard, told, _cycle = await self._explained(asked, name, 1)
        _, _, prefix = name.rpartition("/")
        call = CounterfactualCall(
            NeedKey(told.view.need.cluster, "", ""),
            told.cycle if asked.text("at") else 0,
            asked.lenient_number("budgetMs"),
            asked.lenient_number("depth"),
            prefix,
            False,
        )

        async def search(client: ShardAdminClient) -> CounterfactualAnswer:
            return await client.counterfactual(call)

        answer = await self.fleet.ask_one(shard, search, WHAT_IF_DEADLINE)
        return {**counterfactuals.ANSWER.document(answer), "shardId": shard}

    async def _machine(self, asked: Asked, name: str) -> dict[str, Any]:
        async def look(shard: str, client: ShardAdminClient) -> dict[str, Any]:
            epoch, cycle = await _cycle_of(client, asked)
            answer = await client.explain_machine(MachineCall(name, cycle))
            story = await client.story(StoryCall(name, limit=_MOST_EVENTS))
            lately = await client.decisions(DecisionQuery(machine=name, limit=1))
            last = [decision_document(view, shard) for view in lately.decisions]
            return {
                **_machine_document(answer, epoch),
                "events": [EVENT.document(event) for event in story.events],
                **({"lastDecision": last[0]} if last else {}),
                "shardId": shard,
            }

        return await self._first(look, "machine", name, asked)

    async def _action(self, asked: Asked, name: str) -> dict[str, Any]:
        """Every shard counts its own cycles: a name alone may be that of several decisions."""
        said, dot, index = name.rpartition(".")
        if not (dot and index.isdecimal() and len(index) < 10):
            raise bad("object", f"action/{name[:100]}: write action/CYCLE.INDEX")
        wanted, number = cycle_in(said)

        async def look(shard: str, client: ShardAdminClient) -> dict[str, Any]:
            epoch = await epoch_of(client, wanted, number)
            found = await client.cycle(CycleCall(number, 1, int(index)))
            if not found.actions:
                text = f"cycle {number} decided {found.total_actions} actions, counted from 0"
                raise Rejected(Code.NOT_FOUND, text)
            answer = await client.explain_machine(MachineCall(found.actions[0].machine, number))
            return {
                **_machine_document(answer, epoch),
                "decision": decision_document(found.actions[0], shard),
                "shardId": shard,
            }

        found = await self._known(look, "action", name, asked)
        if len(found.said) > 1:
            shards = ", ".join(sorted(found.said))
            text = f"{len(found.said)} shards have an action/{name}, each its own"
            raise bad("shard", text, f"one of {shards}")
        return {**next(iter(found.said.values())), **found.head()}

    async def _cluster(self, asked: Asked, name: str) -> dict[str, Any]:
        async def look(shard: str, client: ShardAdminClient) -> dict[str, Any]:
            _, until = await _cycle_of(client, asked)
            query = DecisionQuery(to_cycle=until, cluster=name, limit=_MOST_DECISIONS)
            lately = await client.decisions(query)
            if not lately.decisions:
                raise Rejected(Code.NOT_FOUND, f"nothing is decided about {name} lately")
            rows = [decision_document(view, shard) for view in lately.decisions]
            return {"cluster": name, "decisions": rows, "shardId": shard}

        return await self._first(look, "cluster", name, asked)

    async def _why_not(self, asked: Asked, kind: str, name: str, versus: str) -> dict[str, Any]:
        """`machine/M` versus `need/C/N`; or either alone with `not`."""
        if kind not in ("machine", "need") or (kind == "need" and versus):
            raise bad("object", "why not what? machine/ID, with versus=need/CLUSTER/ID, or a Need")
        need_name = name if kind == "need" else versus
        only, key, question = "", None, WhyNotQuestion.REMOVED
        if need_name:
            if versus and not versus.startswith("need/"):
                raise bad("versus", f"{versus[:100]!r} is not a Need; write need/CLUSTER/ID")
            only, key = await self._need_key(need_name.removeprefix("need/"))
            is_machine = kind == "machine"
            question = WhyNotQuestion.ASSIGNED if is_machine else WhyNotQuestion.SATISFIED
        machine = name if kind == "machine" else ""

        async def look(_shard: str, client: ShardAdminClient) -> tuple[WhyNot, str]:
            epoch, cycle = await _cycle_of(client, asked)
            answer = await client.why_not(WhyNotCall(question, machine, key, cycle))
            return answer, f"{epoch}:{answer.cycle}"

        found = await self._known(look, kind, name, asked, only)
        shard, (answer, cycle) = next(iter(found.said.items()))
        return {**why_not_document(answer, cycle), "shardId": shard, **found.head()}

    async def _need_key(self, name: str) -> tuple[str, NeedKey]:
        """The one Need that is meant, and its shard."""
        cluster, _, prefix = name.rpartition("/")
        query = NeedQuery(cluster, 2, (), prefix)
        told = (await self.fleet.ask(lambda client: client.needs(query))).require()
        found = {row.view.need.key: s for s, each in told.said.items() for row in each.rows}
        if not found:
            raise not_found("need", name, await self._need_names(), "/needs lists them")
        if len(found) > 1:
            raise bad("versus", f"several needs begin with {prefix[:100]}; write more of it")
        ((key, shard),) = found.items()
        return shard, key

    async def _need_names(self) -> list[str]:
        query = NeedQuery(limit=_MOST_CANDIDATES)
        told = await self.fleet.ask(lambda client: client.needs(query))
        keys = [row.view.need.key for each in told.said.values() for row in each.rows]
        return [f"{key.cluster}/{key.need_id}" for key in keys]

    async def _first(
        self,
        look: NamedQuestion[dict[str, Any]],
        kind: str,
        name: str,
        asked: Asked,
    ) -> dict[str, Any]:
        found = await self._known(look, kind, name, asked)
        return {**next(iter(found.said.values())), **found.head()}

    async def _known(
        self,
        look: NamedQuestion[T],
        kind: str,
        name: str,
        asked: Asked,
        only: str = "",
    ) -> Answers[T]:
        """Without the shards that do not know it; 404 with the nearest names where none does."""
        past = bool(asked.text("at")) or kind == "action"
        seconds = PAST_SECONDS if past else DEADLINE_SECONDS
        told = await self.fleet.ask_named(look, only or asked.text("shard"), seconds)
        unknown = {s: why for s, why in told.failed.items() if why.code is Code.NOT_FOUND}
        rest = {s: why for s, why in told.failed.items() if s not in unknown}
        if told.said or not unknown:
            return Answers(told.said, rest).require()
        near: list[str] = []
        if kind == "machine":
            near = await nearest(self.fleet, name)
        elif kind == "need":
            near = await self._need_names()
        elif kind == "cluster":
            answers = await self.fleet.ask(lambda client: client.sessions())
            near = [view.cluster for views in answers.said.values() for view in views]
        raise not_found(kind, name, near, next(iter(unknown.values())).text)


async def _cycle_of(client: ShardAdminClient, asked: Asked) -> tuple[int, int]:
    """Epoch of the shard, and the cycle that is asked about; 0: the last."""
    at = asked.text("at")
    if not at:
        return (await client.status()).epoch, 0
    epoch, number = cycle_in(at)
    return await epoch_of(client, epoch, number), number


def _machine_document(answer: MachineAnswer, epoch: int) -> dict[str, Any]:
    return {**MACHINE_ANSWER.document(answer), "cycle": f"{epoch}:{answer.cycle}"}


def operations(fleet: Fleet) -> list[Operation]:
    why = WhyRoutes(fleet)
    return [
        Operation(
            "/why",
            "explain",
            "Why something is as it is, or is not: the answer of `bigfleet why -o json`, and with "
            "`versus` or `not` that of `bigfleet why-not -o json`.",
            why.why,
            Why,
            (
                Param("object", f"What is meant: {_FORMS}.", required=True, example="cluster/shop"),
                Param("versus", "Of a machine: the Need that does not have it, need/CLUSTER/ID."),
                Param("not", "Why a machine is not removed, or a Need not met.", kind="boolean"),
                Param("at", "The cycle; 18231 or 3:18231. The last one unless said."),
                Param("shard", "Only of this shard: each counts its own cycles and actions."),
                Param(
                    "counterfactual",
                    "Of a Need that is short: the smallest changes that would satisfy it.",
                    kind="boolean",
                ),
                Param(
                    "budgetMs",
                    "With counterfactual: how long it may try.",
                    kind="integer",
                    default=_BUDGET,
                    most=_MOST_BUDGET,
                ),
                Param(
                    "depth",
                    "With counterfactual: 2 tries pairs of changes too.",
                    kind="integer",
                    default=1,
                    most=2,
                ),
                Param(
                    "candidates",
                    "Of a Need: machines that are shown.",
                    kind="integer",
                    default=8,
                    most=_MOST_CANDIDATES,
                ),
            ),
            problems=(
                HTTPStatus.BAD_REQUEST,
                HTTPStatus.NOT_FOUND,
                HTTPStatus.SERVICE_UNAVAILABLE,
            ),
            example="/why?object=cluster/shop",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
