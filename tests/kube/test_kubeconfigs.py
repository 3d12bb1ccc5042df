"""Which API server, and as whom: found, merged, or refused with a sentence."""

import os
from base64 import b64encode
from pathlib import Path

import pytest

from bigfleet.kube.connection import own_namespace
from bigfleet.kube.kubeconfigs import BadKubeconfig, account_of_person, target_of

NOWHERE = Path("/nonexistent/serviceaccount")


def kubeconfig(
    folder: Path,
    *,
    name: str = "config",
    context: str = "{cluster: prod, user: me, namespace: shop}",
    cluster: str = "{server: 'https://api.example:6443'}",
    user: str = "{token: secret}",
    current: str = "prod",
) -> Path:
    path = folder / name
    path.write_text(
        f"apiVersion: v1\nkind: Config\ncurrent-context: {current}\n"
        f"contexts: [{{name: prod, context: {context}}}]\n"
        f"clusters: [{{name: prod, cluster: {cluster}}}]\n"
        f"users: [{{name: me, user: {user}}}]\n"
    )
    return path


def service_account(folder: Path) -> Path:
    for name, text in {"token": "t-1", "namespace": "bigfleet\n", "ca.crt": "PEM"}.items():
        (folder / name).write_text(text)
    return folder


def test_a_named_file_is_read(tmp_path: Path) -> None:
    target = target_of(str(kubeconfig(tmp_path)), {}, NOWHERE)
    assert target.cluster.server == "https://api.example:6443"
    assert target.namespace == "shop"
    assert target.user.token == "secret"


def test_in_a_pod_the_service_account_is_used_and_its_token_stays_a_file(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    target = target_of("", environ, service_account(tmp_path))
    assert target.cluster.server == "https://[fd00::1]:443"
    assert target.ca_bundle == b"PEM"
    assert target.user.token_file == str(tmp_path / "token")
    assert own_namespace("", environ, tmp_path) == "bigfleet"


def test_a_named_file_wins_over_the_service_account(tmp_path: Path) -> None:
    account = tmp_path / "account"
    account.mkdir()
    target = target_of(str(kubeconfig(tmp_path)), {}, service_account(account))
    assert target.context_name == "prod"


def test_a_service_account_without_an_address_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadKubeconfig, match="KUBERNETES_SERVICE_HOST"):
        target_of("", {}, service_account(tmp_path))


def test_several_files_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = kubeconfig(tmp_path / "a", user="{tokenFile: token-a}", current="''")
    second = kubeconfig(tmp_path / "b", user="{tokenFile: token-b}", context="{cluster: none}")
    both = os.pathsep.join([str(first), str(tmp_path / "missing"), str(second)])
    target = target_of("", {"KUBECONFIG": both}, NOWHERE)
    assert target.user.token_file == str(tmp_path / "a" / "token-a")
    assert target.context_name == "prod"


def test_the_home_is_looked_at_last(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube")
    target = target_of("", {"HOME": str(tmp_path)}, NOWHERE)
    assert target.source == str(tmp_path / ".kube" / "config")


def test_authorities_are_read_from_text_or_file(tmp_path: Path) -> None:
    inline = b64encode(b"INLINE").decode()
    cluster = f"{{server: 'https://a', certificate-authority-data: {inline}}}"
    assert target_of(str(kubeconfig(tmp_path, cluster=cluster)), {}, NOWHERE).ca_bundle == b"INLINE"
    (tmp_path / "ca.pem").write_text("FILE")
    cluster = "{server: 'https://a', certificate-authority: ca.pem}"
    assert target_of(str(kubeconfig(tmp_path, cluster=cluster)), {}, NOWHERE).ca_bundle == b"FILE"


def test_without_any_namespace_it_is_default(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, context="{cluster: prod, user: me}")
    assert own_namespace(str(path), {}, NOWHERE) == "default"
    assert own_namespace(str(tmp_path / "none"), {}, NOWHERE) == "default"


BAD = {
    "no current context": ({"current": "''"}, r"no current-context \(contexts there: prod\)"),
    "an unknown context": (
        {"current": "test"},
        r"current-context is test, which is not among the contexts \(prod\)",
    ),
    "an unknown cluster": (
        {"context": "{cluster: other}"},
        r"context prod: cluster is other, which is not among the clusters \(prod\)",
    ),
    "an unknown user": (
        {"context": "{cluster: prod, user: you}"},
        r"context prod: user is you, which is not among the users \(me\)",
    ),
    "an old credential plugin": (
        {"user": "{auth-provider: {name: gcp}}"},
        "user me uses `auth-provider`, which is not supported; use exec, a token",
    ),
    "impersonation": ({"user": "{token: t, as: root}"}, "uses `as`, which is not supported"),
    "an authority that is not base64": (
        {"cluster": "{server: 'https://a', certificate-authority-data: '%%'}"},
        "certificate-authority-data is not base64",
    ),
    "a missing authority": (
        {"cluster": "{server: 'https://a', certificate-authority: gone.pem}"},
        r"gone\.pem cannot be read: No such file",
    ),
    "a malformed address": ({"cluster": "{server: 'api:6443'}"}, "not an http"),
    "a server that is a number": ({"cluster": "{server: 6443}"}, "context prod: cluster prod: "),
}


@pytest.mark.parametrize(("words", "said"), BAD.values(), ids=BAD)
def test_a_bad_kubeconfig_is_refused_with_its_file_and_the_fault(
    tmp_path: Path, words: dict[str, str], said: str
) -> None:
    path = kubeconfig(tmp_path, **words)
    with pytest.raises(BadKubeconfig, match=said) as refused:
        target_of(str(path), {}, NOWHERE)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("text", ["[1, 2]", "{contexts: 7}", "{contexts: [x]}", "{", "\x00"])
def test_a_file_that_is_not_a_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(BadKubeconfig, match=str(path)):
        target_of(str(path), {}, NOWHERE)


def test_a_missing_file_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(BadKubeconfig, match=r"no such file; name one with --kubeconfig"):
        target_of(str(tmp_path / "none"), {}, NOWHERE)
    with pytest.raises(BadKubeconfig, match=r"\$KUBECONFIG is not set"):
        target_of("", {"HOME": str(tmp_path)}, NOWHERE)


def test_a_context_that_is_named_goes_before_the_current_one(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, current="gone")
    assert target_of(str(path), {}, NOWHERE, "prod").context_name == "prod"
    with pytest.raises(BadKubeconfig, match=r"asked for is test, .* \(prod\)"):
        target_of(str(path), {}, NOWHERE, "test")


def test_a_person_is_sent_to_the_pods_account_only_without_any_kubeconfig(tmp_path: Path) -> None:
    account = tmp_path / "account"
    account.mkdir()
    service_account(account)
    home = {"HOME": str(tmp_path)}
    assert account_of_person(home, account) == account
    assert account_of_person({**home, "KUBECONFIG": "x"}, account) != account
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube")
    target = target_of("", home, account_of_person(home, account))
    assert target.context_name == "prod"
