"""The certificate that `bigfleet certs` makes for a coordinator: it serves, and opens nothing."""

from pathlib import Path

from bigfleet.wire.lines import TlsFiles
from tests.certs.test_making_certificates import certs, issued
from tests.cli.shard_commands.rig import run
from tests.coordinator_wire.scripted import ScriptedCoordinator, serving


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
