"""The law of one holds for any order of events, calls, crashes and garbage collection.

Two replicas that both believe they lead, each with its own late view of one server.
"""

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND
from bigfleet.kube.objects import ObjectKey
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.pod_demand import PodWait
from bigfleet.podwatch.pod_reconciler import Create, Delete, Instruction, Patch, Release, Withdraw
from bigfleet.podwatch.records import Bodies, DemandSource, OwnRequest, WatchedPod
from tests.podwatch.pods import watched

AT = 1_700_000_000 * SECOND
LATER = AT + 3600 * SECOND
PodChange = tuple[WatchedPod | None, WatchedPod | None]
RequestChange = tuple[OwnRequest | None, OwnRequest | None]


def is_demand(pod: WatchedPod) -> bool:
    return not pod.terminal and pod.wait is not PodWait.GATED


@dataclass
class Server:
    """What is so, and what was told of it, in order."""

    pods: dict[str, WatchedPod] = field(default_factory=dict)
    requests: dict[ObjectKey, OwnRequest] = field(default_factory=dict)
    of_pods: list[PodChange] = field(default_factory=list)
    of_requests: list[RequestChange] = field(default_factory=list)
    made: int = 0

    def put_pod(self, name: str, pod: WatchedPod | None) -> None:
        before = self.pods.pop(name, None)
        if pod is not None:
            self.pods[name] = pod
        self.of_pods.append((before, pod))

    def put_request(self, key: ObjectKey, request: OwnRequest | None) -> None:
        before = self.requests.pop(key, None)
        if request is not None:
            self.requests[key] = request
        self.of_requests.append((before, request))

    def live(self) -> set[str]:
        """Pods that are demand."""
        return {pod.uid for pod in self.pods.values() if is_demand(pod)}

    def of(self, uid: str) -> list[OwnRequest]:
        return [each for each in self.requests.values() if each.owner == uid]

    def collect(self) -> None:
        there = {pod.uid for pod in self.pods.values()}
        for key, request in list(self.requests.items()):
            if request.owner not in there:
                self.put_request(key, None)


@dataclass
class Replica:
    server: Server
    book: Book = field(default_factory=Book)
    pods_read: int = 0
    requests_read: int = 0

    def restart(self) -> None:
        server, self.book = self.server, Book()
        self.pods_read, self.requests_read = len(server.of_pods), len(server.of_requests)
        for pod in server.pods.values():
            self.book.pod_changed(None, pod)
        for request in server.requests.values():
            self.book.request_changed(None, request)

    def hear_of_pods(self) -> None:
        if self.pods_read < len(self.server.of_pods):
            self.book.pod_changed(*self.server.of_pods[self.pods_read])
            self.pods_read += 1

    def hear_of_requests(self) -> None:
        if self.requests_read < len(self.server.of_requests):
            self.book.request_changed(*self.server.of_requests[self.requests_read])
            self.requests_read += 1

    def look(self, uid: str, at: int) -> int:
        """How much there was to do."""
        decision = self.book.decide(uid, {}, at)
        for instruction in decision.instructions:
            self._carry_out(instruction, at)
        return len(decision.instructions)

    def _carry_out(self, instruction: Instruction, at: int) -> None:
        server = self.server
        match instruction:
            case Create():
                self.book.expect(instruction.owner.uid, instruction.key, at)
                if instruction.key not in server.requests:
                    server.put_request(instruction.key, made_of(server, instruction))
            case Patch(request, _):
                if request.key in server.requests:
                    spec = self.book.pods[request.owner].spec({}) or b""
                    there = server.requests[request.key]
                    server.put_request(request.key, replace(there, body=Bodies().of(spec)))
            case Delete(request):
                self._delete(request)
            case Release(request):
                # Nothing is released by an old view.
                if self.pods_read == len(server.of_pods):
                    self._delete(request)
            case Withdraw(request):
                if request.owner not in server.live():
                    self._delete(request)

    def _delete(self, request: OwnRequest) -> None:
        there = self.server.requests.get(request.key)
        if there is not None and there.uid == request.uid:
            assert request.owner not in self.server.live() or len(self.server.of(there.owner)) > 1
            self.server.put_request(request.key, None)


def made_of(server: Server, create: Create) -> OwnRequest:
    server.made += 1
    owner = create.owner
    uid, body = f"cr-{server.made}", Bodies().of(create.spec)
    source = DemandSource.POD
    return OwnRequest(create.key, uid, owner.uid, owner.name, source, body, False, "", False)


NAMES = ["web-1", "web-2"]
steps = st.one_of(
    st.tuples(
        st.sampled_from(["start", "gated", "ungate", "resize", "end", "delete"]),
        st.sampled_from(NAMES),
    ),
    st.tuples(st.sampled_from(["hear-pods", "hear-requests", "look", "crash"]), st.booleans()),
    st.just(("collect", "")),
    st.tuples(st.just("steal"), st.sampled_from(NAMES)),
)


def lived(server: Server, replicas: list[Replica], story: list[tuple[str, str | bool]]) -> None:
    for number, (step, which) in enumerate(story):
        name = str(which)
        replica = replicas[int(which is True)]
        pod = server.pods.get(name)
        match step:
            case "start" if pod is None:
                server.put_pod(name, watched(name, uid=f"{name}-{number}"))
            case "gated" if pod is None:
                gates = [{"name": "quota"}]
                gated = watched(name, uid=f"{name}-{number}", schedulingGates=gates)
                server.put_pod(name, gated)
            case "ungate" if pod is not None and pod.wait is PodWait.GATED:
                server.put_pod(name, watched(name, uid=pod.uid))
            case "resize" if pod is not None and is_demand(pod):
                server.put_pod(name, watched(name, uid=pod.uid, cpu=f"{number + 1}"))
            case "end" if pod is not None:
                server.put_pod(name, watched(name, uid=pod.uid, phase="Failed"))
            case "delete" if pod is not None:
                server.put_pod(name, None)
            case "steal" if pod is not None and (taken := server.of(pod.uid)):
                server.put_request(taken[0].key, None)
            case "collect":
                server.collect()
            case "hear-pods":
                replica.hear_of_pods()
            case "hear-requests":
                replica.hear_of_requests()
            case "crash":
                replica.restart()
            case "look":
                for uid in list(replica.book.pods_to_look_at()):
                    replica.look(uid, AT)
        assert all(len(server.of(uid)) <= 1 for uid in server.live())


def settled(server: Server, replicas: list[Replica]) -> None:
    """Everything is heard and looked at, until nothing is left to do."""
    for _ in range(20):
        for replica in replicas:
            while replica.pods_read < len(server.of_pods):
                replica.hear_of_pods()
            while replica.requests_read < len(server.of_requests):
                replica.hear_of_requests()
        busy = sum(
            replica.look(uid, LATER)
            for replica in replicas
            for uid in list(replica.book.pods_to_look_at())
        )
        if not busy:
            return
    raise AssertionError("there is always something left to do")


@settings(max_examples=150)
@given(st.lists(steps, min_size=20, max_size=60))
def test_in_the_end_every_pod_that_is_demand_has_exactly_the_request_it_asks_for(
    story: list[tuple[str, str | bool]],
) -> None:
    server = Server()
    replicas = [Replica(server), Replica(server)]
    lived(server, replicas, story)
    settled(server, replicas)
    asked = {uid: [each.body.spec for each in server.of(uid)] for uid in server.live()}
    assert asked == {pod.uid: [pod.spec({})] for pod in server.pods.values() if is_demand(pod)}
    assert {each.owner for each in server.requests.values()} == server.live()
