"""`bigfleet certs`: an authority, and leaves whose one name is the role they are for."""

import json
import ssl
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from bigfleet.cli.main import cli
from bigfleet.edge.certificates import UnusableAuthority, authority, leaf
from bigfleet.model.options import SECOND
from bigfleet.wire.lines import TlsFiles
from tests.certs.handshakes import shake_hands
from tests.cli.shard_commands.rig import run
from tests.coordinator_wire.scripted import ScriptedCoordinator, serving


def certs(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["certs", *map(str, words)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert certs("ca", "--dir", tmp_path / "certs").exit_code == 0
    return tmp_path / "certs"


def issued(folder: Path, role: str, name: str = "", *more: str) -> TlsFiles:
    words = ["--name" if role == "admin" else "--id", name] if name else []
    result = certs("issue", "--role", role, *words, "--dir", folder, *more, "-o", "json")
    assert result.exit_code == 0, result.output
    files = json.loads(result.stdout)["files"]
    return TlsFiles(Path(files["cert"]), Path(files["key"]), Path(files["ca"]))


@pytest.mark.parametrize(
    ("role", "name", "uri", "own"),
    [
        ("cluster", "shop", "bigfleet://cluster/shop", "cluster-shop"),
        ("shard", "shard-0", "bigfleet://shard/shard-0", "shard-shard-0"),
        ("readonly", "", "bigfleet://readonly", "readonly"),
        ("admin", "", "bigfleet://admin", "admin"),
        ("admin", "ada", "bigfleet://admin/ada", "admin-ada"),
    ],
)
def test_a_leaf_carries_the_name_of_its_role_and_serves_and_dials(
    folder: Path, role: str, name: str, uri: str, own: str
) -> None:
    files = issued(folder, role, name)
    assert files.cert == folder / own / "tls.crt"
    leaf = x509.load_pem_x509_certificate(files.cert.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [uri]
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert "127.0.0.1" in map(str, names.get_values_for_type(x509.IPAddress))
    uses = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert set(uses) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}


@pytest.mark.parametrize(
    ("name", "own"),
    [("", "coordinator"), ("coordinator-2", "coordinator-coordinator-2")],
    ids=["one for all replicas", "one of several"],
)
def test_a_coordinators_leaf_serves_under_its_hosts_and_names_no_client(
    folder: Path, name: str, own: str
) -> None:
    more = ("--host", "coordinator.fleet.svc", "--host", "*.coordinator-peers.fleet.svc")
    files = issued(folder, "coordinator", name, *more)
    assert files.cert == folder / own / "tls.crt"
    leaf = x509.load_pem_x509_certificate(files.cert.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == []
    shard = issued(folder, "shard", "shard-0")
    for host in ("127.0.0.1", "coordinator.fleet.svc", "c-1.coordinator-peers.fleet.svc"):
        assert shake_hands(server=files, client=shard, host=host) == (
            "bigfleet://shard/shard-0",
            "",
        )


def test_a_coordinators_leaf_is_told_to_carry_no_name(folder: Path) -> None:
    made = certs("issue", "--role", "coordinator", "--dir", folder)
    assert made.exit_code == 0, made.output
    assert "no bigfleet:// name: it may serve, and may not call others" in made.stdout
    assert "--tls-cert" in made.stdout
    again = certs("issue", "--role", "coordinator", "--dir", folder, "--force", "-o", "json")
    assert "identity" not in json.loads(again.stdout)


def test_two_roles_shake_hands_and_know_each_other(folder: Path) -> None:
    shard, cluster = issued(folder, "shard", "shard-0"), issued(folder, "cluster", "shop")
    assert shake_hands(server=shard, client=cluster, host="localhost") == (
        "bigfleet://cluster/shop",
        "bigfleet://shard/shard-0",
    )


def test_a_leaf_of_another_authority_is_not_believed(folder: Path, tmp_path: Path) -> None:
    certs("ca", "--dir", tmp_path / "other")
    shard, stranger = issued(folder, "shard", "s"), issued(tmp_path / "other", "admin")
    with pytest.raises(ssl.SSLError):
        shake_hands(server=shard, client=stranger, host="localhost")


def test_a_leaf_serves_under_the_hosts_it_was_made_for(folder: Path) -> None:
    more = ("--host", "shard.fleet.example", "--host", "10.1.2.3")
    shard, admin = issued(folder, "shard", "s", *more), issued(folder, "admin")
    for host in ("shard.fleet.example", "10.1.2.3", "127.0.0.1"):
        assert shake_hands(server=shard, client=admin, host=host)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server=shard, client=admin, host="other.example")


def test_every_file_is_for_its_owner_only(folder: Path) -> None:
    issued(folder, "admin")
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 5
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_nothing_is_replaced_without_force(folder: Path) -> None:
    files = issued(folder, "admin")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for words in (("ca",), ("issue", "--role", "admin")):
        refused = certs(*words, "--dir", folder)
        assert refused.exit_code == 2
        assert "is there already; --force replaces it" in refused.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert certs("issue", "--role", "admin", "--dir", folder, "--force").exit_code == 0
    assert files.cert.read_bytes() != before[files.cert]
    assert files.why_unusable() is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--role", "shard"], "role shard needs --id"),
        (["--role", "cluster", "--id", "../up"], "letters, digits"),
        (["--role", "cluster", "--id", "a b"], "letters, digits"),
        (["--role", "admin", "--id", "jane"], "role admin has no --id; write --name jane"),
        (["--role", "admin", "--name", "../up"], "letters, digits"),
        (["--role", "readonly", "--name", "jane"], "--name is for role admin"),
        (["--role", "coordinator", "--id", "../up"], "letters, digits"),
        (["--role", "root"], "'root' is not one of"),
        (["--role", "admin", "--host", "bad host\n"], "--host"),
    ],
)
def test_what_cannot_be_a_name_is_refused(folder: Path, words: list[str], said: str) -> None:
    refused = certs("issue", *words, "--dir", folder)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_without_an_authority_one_is_told_how_to_make_it(tmp_path: Path) -> None:
    refused = certs("issue", "--role", "admin", "--dir", tmp_path)
    assert refused.exit_code == 2
    assert f"make an authority first: bigfleet certs ca --dir {tmp_path}" in refused.stderr


@pytest.mark.parametrize(
    ("file", "said"),
    [("ca.crt", "it cannot be read"), ("ca.key", "it cannot be read")],
)
def test_a_broken_authority_signs_nothing(folder: Path, file: str, said: str) -> None:
    (folder / file).write_text("nonsense")
    refused = certs("issue", "--role", "admin", "--dir", folder)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_an_authority_whose_halves_do_not_belong_together_signs_nothing(
    folder: Path, tmp_path: Path
) -> None:
    certs("ca", "--dir", tmp_path / "other")
    (folder / "ca.key").write_bytes((tmp_path / "other" / "ca.key").read_bytes())
    refused = certs("issue", "--role", "admin", "--dir", folder)
    assert "its certificate and its key do not belong together" in refused.stderr


NOW = 1_700_000_000 * SECOND
DAY = 86400 * SECOND


def test_a_leaf_lasts_as_long_as_asked() -> None:
    assert (
        leaf(authority("ca", NOW, 10), "x", "bigfleet://admin", NOW, 3).expires_at == NOW + 3 * DAY
    )


def test_a_leaf_never_outlives_its_authority() -> None:
    signer = authority("ca", NOW, 10)
    made = leaf(signer, "x", "bigfleet://admin", NOW + 9 * DAY, 365)
    assert made.expires_at == signer.expires_at


def test_an_expired_authority_signs_nothing() -> None:
    signer = authority("ca", NOW, 10)
    with pytest.raises(UnusableAuthority, match="it expired on 2023-11-24"):
        leaf(signer, "x", "bigfleet://admin", NOW + 10 * DAY, 1)


def test_a_certificate_is_good_at_once_also_for_a_clock_that_runs_behind() -> None:
    made = x509.load_pem_x509_certificate(authority("ca", NOW, 1).certificate)
    assert made.not_valid_before_utc.timestamp() == NOW // SECOND - 3600


def asked_with(files: TlsFiles) -> list[str]:
    names = {"--tls-cert": files.cert, "--tls-key": files.key, "--tls-ca": files.ca}
    return [word for pair in names.items() for word in map(str, pair)]


async def test_a_coordinator_serves_with_a_certificate_no_client_uses(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    assert certs("ca", "--dir", folder).exit_code == 0
    own, reader = issued(folder, "coordinator"), issued(folder, "readonly")
    async with serving(ScriptedCoordinator(), tls=own) as rig:
        looking = ("domains", "--coordinator", rig.address)
        assert (await run(*looking, *asked_with(reader))).exit_code == 0
        refused = await run(*looking, *asked_with(own))
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "a caller without one bigfleet name" in refused.stderr
