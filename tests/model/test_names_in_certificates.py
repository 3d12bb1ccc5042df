"""Who is an administrator, and how a caller is named to people."""

import pytest

from bigfleet.model.syntax import admin_identity, is_admin, who_text


@pytest.mark.parametrize("name", ["", "ada", "ada@example.org", "a.b-c_7"])
def test_an_administrator_may_have_a_name(name: str) -> None:
    assert is_admin(admin_identity(name))


@pytest.mark.parametrize(
    "identity",
    [
        None,
        "",
        "bigfleet://admin/",
        "bigfleet://admin/a/b",
        "bigfleet://admin/a b",
        "bigfleet://admins",
        "bigfleet://readonly",
        "bigfleet://shard/admin",
        "x:bigfleet://admin",
    ],
)
def test_other_names_are_not_administrators(identity: str | None) -> None:
    assert not is_admin(identity)


def test_what_a_caller_calls_itself_stands_beside_what_its_certificate_says() -> None:
    assert who_text("bob", "bigfleet://admin/ada") == "bob (bigfleet://admin/ada)"
    assert who_text("bob", None) == "bob"
    assert who_text("", "bigfleet://admin/ada") == "bigfleet://admin/ada"
    assert who_text("", "") == "an unnamed caller"
