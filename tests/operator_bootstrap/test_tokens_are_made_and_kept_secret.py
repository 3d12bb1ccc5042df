"""A bootstrap token: the Secret Kubernetes expects, and nothing of it anywhere else."""

import random
import re
from base64 import b64decode, b64encode
from typing import Any

import msgspec
import pytest

from bigfleet.edge.clock import SECOND
from bigfleet.kube.objects import Meta, Secret
from bigfleet.model.machines import Instant
from bigfleet.operator.bootstrap.tokens import (
    MAKER,
    SECRET_TYPE,
    BootstrapToken,
    is_expired,
    new_token,
    secret_body,
)
from bigfleet.operator.settings import OperatorSettings, contradictions_of

START: Instant = 1_700_000_000 * SECOND


def minted(seed: int = 1, ttl_seconds: float = 900) -> BootstrapToken:
    return new_token(random.Random(seed).randbytes, START, ttl_seconds)


def test_a_token_has_the_form_kubelets_present() -> None:
    texts = {minted(seed).text for seed in range(200)}
    assert len(texts) == 200
    assert all(re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", text) for text in texts)


def test_the_id_of_a_token_begins_with_the_prefix_a_policy_knows() -> None:
    tokens = [new_token(random.Random(seed).randbytes, START, 900, "bf") for seed in range(50)]
    assert all(re.fullmatch(r"bf[a-z0-9]{4}\.[a-z0-9]{16}", each.text) for each in tokens)
    assert all(each.object_name.startswith("bootstrap-token-bf") for each in tokens)
    assert len({each.id for each in tokens}) == 50


@pytest.mark.parametrize("prefix", ["abcd", "BF", "b-", "é"])
def test_a_prefix_that_no_id_can_have_stops_the_operator_at_its_start(prefix: str) -> None:
    settings = OperatorSettings(cluster_id="shop", shard_addr="a:1", token_prefix=prefix)
    ((key, why),) = contradictions_of(settings)
    assert key == "token_prefix"
    assert "write at most 3 lower-case letters and digits" in why


def test_a_cluster_whose_name_is_not_a_name_stops_the_operator_at_its_start() -> None:
    ((key, why),) = contradictions_of(OperatorSettings(cluster_id="a\nb", shard_addr="a:1"))
    assert key == "cluster_id"
    assert "write printable ASCII without spaces" in why


def test_every_letter_of_a_token_is_equally_likely() -> None:
    # 252 of the 256 values of a byte are seven times 36 letters; the other four are drawn anew.
    draws = iter([bytes(range(252, 256)) * 11, bytes(range(44))])
    token = new_token(lambda size: next(draws)[:size], START, 900)
    assert token.text == "012345.6789abcdefghijkl"


def test_the_secret_is_what_kubernetes_expects() -> None:
    token = minted()
    body: dict[str, Any] = msgspec.convert(secret_body(token, "shop"), dict[str, Any])
    content = {key: b64decode(text).decode() for key, text in body.pop("data").items()}
    assert body == {
        "metadata": {
            "name": f"bootstrap-token-{token.id}",
            "namespace": "kube-system",
            "labels": {"bigfleet.lucy.sh/made-by": "operator-tokens"},
        },
        "type": "bootstrap.kubernetes.io/token",
    }
    assert content == {
        "token-id": token.id,
        "token-secret": token.secret,
        "expiration": "2023-11-14T22:28:20Z",
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": "system:bootstrappers:bigfleet",
        "description": "BigFleet: lets machines of the fleet join cluster shop",
    }


def test_a_token_does_not_print_its_secret() -> None:
    token = minted()
    assert token.secret not in f"{token!r} {token}"


def test_a_token_is_fresh_for_the_first_half_of_its_life() -> None:
    token = minted(ttl_seconds=900)
    assert token.is_fresh(START + 449 * SECOND)
    assert not token.is_fresh(START + 450 * SECOND)


def test_the_time_left_is_counted_down_in_whole_seconds() -> None:
    token = minted(ttl_seconds=900)
    left = [token.seconds_left(START + at) for at in (0, 1, 60 * SECOND, 3600 * SECOND)]
    assert left == [900, 899, 840, 0]


def secret(expires: str, kind: str = SECRET_TYPE, maker: str = MAKER) -> Secret:
    labels = {"bigfleet.lucy.sh/made-by": maker}
    data = {"expiration": b64encode(expires.encode()).decode()}
    return Secret(metadata=Meta(name="s", labels=labels), type=kind, data=data)


@pytest.mark.parametrize(
    ("found", "expired"),
    [
        (secret("2023-11-14T22:13:20Z"), True),
        (secret("2023-11-14T22:13:21Z"), False),
        (secret("2023-11-14T22:13:20Z", kind="Opaque"), False),
        (secret("2023-11-14T22:13:20Z", maker="kubeadm"), False),
        (secret("soon"), False),
        (
            Secret(metadata=Meta(labels={"bigfleet.lucy.sh/made-by": MAKER}), type=SECRET_TYPE),
            False,
        ),
    ],
    ids=["over", "not yet", "of another type", "of another maker", "unreadable", "without an end"],
)
def test_only_tokens_of_ours_whose_life_is_over_are_expired(found: Secret, expired: bool) -> None:
    assert is_expired(found, START) is expired


def test_a_secret_read_from_the_cluster_prints_its_name_only() -> None:
    found = Secret(metadata=Meta(name="bootstrap-token-abc", namespace="kube-system"))
    full = msgspec.structs.replace(found, data={"token-secret": "cHN0"})
    assert repr(full) == "Secret(kube-system/bootstrap-token-abc)"
