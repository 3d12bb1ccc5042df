"""A shard's request for a blob, over a template file and an API server."""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import NullLog
from bigfleet.kube.kinds import SECRETS
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse
from bigfleet.operator.bootstrap.renderer import ClusterFacts
from bigfleet.operator.driving.bootstrap_requests import (
    BadTemplateFile,
    BootstrapRequests,
    TemplateFile,
)
from bigfleet.operator.driving.tokens import BootstrapTokens
from tests.kube_api import FakeApiServer, api_for

FACTS = ClusterFacts("shop", "https://api.shop:6443", b"-----BEGIN CERTIFICATE-----\n")
ASKED = BootstrapRequest("r-1", "shop", (Requirement.of("zone", Operator.IN, ["a", "b"]),))


class Lines(NullLog):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, event: str, **facts: Any) -> None:
        self.lines.append(f"{event} {facts}")

    debug = warning = error = info


@dataclass(slots=True)
class Rig:
    server: FakeApiServer
    clock: ManualClock
    counts: Counts
    log: Lines
    tokens: BootstrapTokens
    file: Path
    bootstrapping: BootstrapRequests

    async def answer(self, request: BootstrapRequest = ASKED) -> BootstrapResponse:
        return await self.bootstrapping.answer(request)

    def secrets(self) -> list[str]:
        return [key.name for key in self.server.objects(SECRETS)]


@asynccontextmanager
async def rig_with(
    file: Path, source: str, *, minting: bool = True, seed: int = 1
) -> AsyncIterator[Rig]:
    file.write_text(source)
    clock, counts, log = ManualClock(), Counts(), Lines()
    async with FakeApiServer(clock) as server, api_for(server, clock) as api:
        tokens = BootstrapTokens(api, clock, random.Random(seed).randbytes, log, cluster_id="shop")
        bootstrapping = BootstrapRequests(
            TemplateFile(str(file), log),
            FACTS,
            clock,
            log,
            counts,
            tokens=tokens if minting else None,
        )
        yield Rig(server, clock, counts, log, tokens, file, bootstrapping)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "bootstrap.tmpl"


async def test_a_request_is_answered_with_the_filled_template(file: Path) -> None:
    source = (
        "{{ .ClusterID }} {{ .RequestID }} {{ .APIServer }} {{ .CABundle }} "
        "{{ range .Requirements }}{{ .Key }} {{ .Operator }} {{ .Values }}{{ end }}"
    )
    async with rig_with(file, source, minting=False) as rig:
        answer = await rig.answer()
        bundle = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
        text = f"shop r-1 https://api.shop:6443 {bundle} zone In [a b]"
        assert answer == BootstrapResponse("r-1", text.encode())
        assert rig.counts.of("bootstrap_renders_total", outcome="success") == 1


@pytest.mark.parametrize(
    ("operator", "word"),
    [
        (Operator.IN, "In"),
        (Operator.NOT_IN, "NotIn"),
        (Operator.EXISTS, "Exists"),
        (Operator.DOES_NOT_EXIST, "DoesNotExist"),
        (Operator.SAME, "Same"),
        (Operator.UNSPECIFIED, ""),
    ],
)
async def test_operators_have_the_words_existing_templates_know(
    file: Path, operator: Operator, word: str
) -> None:
    source = "{{ range .Requirements }}<{{ .Operator }}>{{ end }}"
    async with rig_with(file, source, minting=False) as rig:
        asked = BootstrapRequest("r-1", "", (Requirement("k", operator),))
        assert (await rig.answer(asked)).user_data == f"<{word}>".encode()


async def test_a_request_for_another_cluster_is_refused_in_the_answer(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        answer = await rig.answer(BootstrapRequest("r-2", "toys"))
        assert (answer.request_id, answer.user_data) == ("r-2", b"")
        assert "asked for cluster 'toys', but this is 'shop'" in answer.error
        assert rig.secrets() == []
        assert rig.counts.of("bootstrap_renders_total", outcome="error") == 1


async def test_one_token_serves_until_half_of_its_life_is_over(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        first = await rig.answer()
        assert first.ttl_seconds == 900
        await rig.clock.advance(449)
        second = await rig.answer()
        assert (second.user_data, second.ttl_seconds) == (first.user_data, 451)
        await rig.clock.advance(1)
        third = await rig.answer()
        assert third.user_data != first.user_data
        assert third.ttl_seconds == 900
        assert len(rig.secrets()) == 2


async def test_requests_that_come_together_share_one_token(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        answers = await asyncio.gather(*(rig.answer() for _ in range(20)))
        assert len({answer.user_data for answer in answers}) == 1
        assert len(rig.secrets()) == 1


async def test_a_template_without_a_token_makes_none(file: Path) -> None:
    async with rig_with(file, "{{ .ClusterID }}") as rig:
        assert (await rig.answer()).ttl_seconds == 0
        assert rig.secrets() == []


async def test_a_token_that_cannot_be_made_is_an_error_of_the_answer(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        rig.server.fail("create", "secrets", status=403, message="secrets is forbidden")
        answer = await rig.answer()
        assert answer.user_data == b""
        assert "secrets is forbidden" in answer.error
        assert (await rig.answer()).error == ""


async def test_a_create_whose_answer_is_lost_leads_to_another_token(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        rig.server.fail("create", "secrets", status=503, done_anyway=True)
        answer = await rig.answer()
        made = rig.secrets()
        assert len(made) == 2
        assert f"bootstrap-token-{answer.user_data[:6].decode()}" in made
        await rig.clock.advance(901)
        await rig.tokens.sweep()
        assert rig.secrets() == []


async def test_an_id_in_use_is_left_alone(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        rig.server.fail("create", "secrets", status=409, reason="AlreadyExists")
        assert (await rig.answer()).error == ""
        await rig.clock.advance(901)
        await rig.tokens.sweep()
        assert len(rig.server.calls("delete", "secrets")) == 1


async def test_tokens_of_an_earlier_process_are_swept_and_others_stay(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        await rig.answer()
        of_another = {"metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"}}
        rig.server.put(SECRETS, of_another)
        await rig.clock.advance(901)
        async with api_for(rig.server, rig.clock) as api:
            draws = random.Random(2).randbytes
            later = BootstrapTokens(api, rig.clock, draws, rig.log, cluster_id="shop")
            await later.sweep()
        assert rig.secrets() == ["bootstrap-token-abcdef"]


async def test_without_the_right_to_list_a_process_sweeps_its_own(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        rig.server.fail("list", "secrets", status=403, times=99)
        await rig.answer()
        await rig.clock.advance(901)
        await rig.tokens.sweep()
        await rig.tokens.sweep()
        assert rig.secrets() == []
        assert len(rig.server.calls("list", "secrets")) == 1


class Line:
    connected = False


async def test_tokens_are_not_swept_while_no_session_is_open(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        await rig.answer()
        await rig.clock.advance(901)
        line = Line()
        sweeping = asyncio.create_task(rig.tokens.keep_swept(line))
        await rig.clock.advance(301)
        assert len(rig.secrets()) == 1
        line.connected = True
        await rig.clock.advance(300)
        await rig.server.until(lambda: rig.secrets() == [])
        sweeping.cancel()


async def test_nothing_secret_is_logged(file: Path) -> None:
    async with rig_with(file, "{{ .Token }}") as rig:
        rig.server.fail("create", "secrets", status=503)
        answer = await rig.answer()
        secret = answer.user_data.decode().partition(".")[2]
        assert len(secret) == 16
        assert secret not in f"{rig.log.lines} {answer!r}"


async def test_a_changed_template_is_used_for_the_next_request(file: Path) -> None:
    async with rig_with(file, "one", minting=False) as rig:
        assert (await rig.answer()).user_data == b"one"
        swapped = file.with_name("next")
        swapped.write_text("two {{ .ClusterID }}")
        os.replace(swapped, file)
        assert (await rig.answer()).user_data == b"two shop"


async def test_a_bad_new_template_is_said_once_and_the_last_good_one_goes_on(file: Path) -> None:
    async with rig_with(file, "good", minting=False) as rig:
        file.write_text("a {{ .Wrong }}")
        for _ in range(3):
            assert (await rig.answer()).user_data == b"good"
        (said,) = [line for line in rig.log.lines if "bootstrap.bad_template" in line]
        assert "line 1, column 3" in said
        file.unlink()
        assert (await rig.answer()).user_data == b"good"
        file.write_text("mended")
        assert (await rig.answer()).user_data == b"mended"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file"),
        (b"{{ .Nothing }}", "line 1, column 1"),
        (b"\xff\xfe", "is not UTF-8"),
    ],
    ids=["no file", "no template", "no text"],
)
def test_a_bad_file_stops_the_start(file: Path, content: bytes | None, problem: str) -> None:
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadTemplateFile, match=problem) as refused:
        TemplateFile(str(file), NullLog())
    assert str(file) in str(refused.value)


async def test_without_a_template_file_a_machine_is_told_that_there_is_none() -> None:
    bootstrapping = BootstrapRequests(
        TemplateFile("", NullLog()), FACTS, ManualClock(), NullLog(), Counts()
    )
    answer = await bootstrapping.answer(ASKED)
    assert answer.user_data.startswith(b"#cloud-config\n# BigFleet: cluster shop has no bootstrap")


def test_a_template_that_wants_a_token_that_is_not_made_is_warned_of(file: Path) -> None:
    file.write_text("{{ if .Token }}{{ .Token }}{{ end }}")
    log = Lines()
    BootstrapRequests(TemplateFile(str(file), log), FACTS, ManualClock(), log, Counts())
    assert "set mint_token" in "".join(log.lines)
