"""Bootstrap blobs hold credentials; errors and notes that quote them are shown without them."""

from base64 import b64encode

import pytest

from bigfleet.provider import Kind, Operation, Permanent, Retryable
from bigfleet.provider.ledger.transitions import without_blob
from bigfleet.provider.testing import FakeSubstrate, slots
from bigfleet.wire.provider_admin import ProviderAdminClient, Verb
from tests.provider.rig import running

BLOB = b"#!/bin/sh\nexport TOKEN=abcdef.0123456789abcdef\nkubeadm join 10.0.0.1:6443\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"script failed: {BLOB.decode()}", "script failed: <blob>\n"),
        ("line 2: export TOKEN=abcdef.0123456789abcdef: denied", "line 2: <blob>: denied"),
        (f"bad user data {b64encode(BLOB).decode()}", "bad user data <blob>"),
        ("#!/bin/sh: not found", "#!/bin/sh: not found"),
        ("no such host", "no such host"),
    ],
    ids=["whole", "by a line", "as base64", "what is everybody's", "nothing of it"],
)
def test_what_is_of_the_blob_is_hidden(text: str, shown: str) -> None:
    assert without_blob(text, BLOB) == shown


def test_without_a_blob_nothing_is_hidden() -> None:
    assert without_blob("all of it", b"") == "all of it"


class Talkative(FakeSubstrate):
    async def configure(self, op: Operation) -> None:
        op.note(f"running {op.bootstrap_blob.decode()}")
        await super().configure(op)


async def test_neither_last_error_nor_the_journal_quotes_it() -> None:
    quoted = BLOB.decode()
    async with running(substrate=Talkative(slots(1))) as rig:
        await rig.to_idle("m-0")
        errors = Retryable(f"busy with {quoted}"), Permanent(f"cannot run {quoted}")
        rig.substrate.fail_next(Kind.CONFIGURE, *errors)
        await rig.configure("m-0", blob=BLOB)
        await rig.clock.advance(2)
        failed = await rig.get("m-0")
        assert failed.last_error == "error: cannot run <blob>\n"
        async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
            ops = (await admin.do(Verb.OPS)).answer
        assert "TOKEN" not in str(ops)
        assert "running <blob>" in str(ops)
