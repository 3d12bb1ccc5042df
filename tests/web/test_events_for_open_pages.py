"""The hub: one encoding for all, at most four events a second and topic, resume, reset, bounds."""

import json
from typing import Any

import pytest

from bigfleet.model.options import SECOND
from bigfleet.web.live.hub import MOST_BEHIND, MOST_CLIENTS, Client, Hub, HubFull, newest

T0 = 1_700_000_000 * SECOND
HELLO = {"version": "1.2.3"}


def joined(before: Any, after: Any) -> Any:
    return [*before, *after]


def hub() -> Hub:
    made = Hub(T0, {"overview": newest, "rows": joined, "other": joined})
    made.at(3, 18)
    return made


def listener(made: Hub, *topics: str, last_id: str = "") -> Client:
    return made.join(topics or ("overview", "rows"), last_id, lambda: None, HELLO)


def read(client: Client) -> list[tuple[str, str, Any]]:
    """(event, id, data) of all that waits."""
    found = []
    for frame in client.take().decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.splitlines())
        if lines:
            found.append((lines["event"], lines.get("id", ""), json.loads(lines["data"])))
    return found


def names(client: Client) -> list[str]:
    return [name for name, _, _ in read(client)]


def test_the_first_event_says_hello_and_state_that_is_known_follows() -> None:
    made = hub()
    made.offer("overview", {"cycle": 1}, T0)
    client = listener(made)
    assert [(name, data) for name, _, data in read(client)] == [
        ("hello", HELLO),
        ("overview", {"cycle": 1}),
    ]


def test_an_event_reaches_those_who_listen_to_its_topic_as_the_same_bytes() -> None:
    made = hub()
    first, second, other = listener(made), listener(made), listener(made, "other")
    for client in (first, second, other):
        client.take()
    made.offer("rows", [1], T0)
    assert first.waiting[0] is second.waiting[0]
    assert not other.waiting


def test_an_id_names_epoch_cycle_and_a_number_that_grows() -> None:
    made = hub()
    client = listener(made)
    made.offer("rows", [1], T0)
    made.offer("overview", {}, T0)
    (_, _, _), (_, first, _), (_, second, _) = read(client)
    assert first.startswith("3.18.")
    assert int(second.split(".")[2]) == int(first.split(".")[2]) + 1


def test_what_comes_within_a_quarter_of_a_second_is_merged_into_the_next_event() -> None:
    made = hub()
    client = listener(made, "rows")
    for step in range(5):
        made.offer("rows", [step], T0 + step * SECOND // 20)
    assert [data for _, _, data in read(client)] == [HELLO, [0]]
    assert made.due() == T0 + SECOND // 4
    made.tick(T0 + SECOND // 4 - 1)
    assert not client.waiting
    made.tick(T0 + SECOND // 4)
    assert [data for _, _, data in read(client)] == [[1, 2, 3, 4]]
    assert made.due() is None


def test_one_who_comes_back_is_told_what_it_missed_and_nothing_twice() -> None:
    made = hub()
    client = listener(made)
    made.offer("rows", [1], T0)
    last = read(client)[-1][1]
    made.leave(client, T0)
    made.offer("rows", [2], T0 + SECOND)
    made.offer("rows", [3], T0 + 2 * SECOND)
    again = listener(made, last_id=last)
    assert [(name, data) for name, _, data in read(again)][1:] == [("rows", [2]), ("rows", [3])]


@pytest.mark.parametrize("last_id", ["", "nonsense", "3.18", "1.2.3", "9.9." + "9" * 30, "a.b.c"])
def test_an_id_that_is_not_ours_or_of_an_earlier_life_is_answered_with_a_reset(
    last_id: str,
) -> None:
    made = hub()
    made.offer("overview", {}, T0)
    client = listener(made, last_id=last_id)
    expected = ["hello", "overview"] if not last_id else ["hello", "reset", "overview"]
    assert names(client) == expected


def test_one_who_comes_back_too_late_must_load_everything_anew() -> None:
    made = hub()
    client = listener(made)
    made.offer("rows", [1], T0)
    last = read(client)[-1][1]
    made.offer("rows", [2], T0 + SECOND)
    made.leave(client, T0 + SECOND)
    made.tick(T0 + 302 * SECOND)
    assert names(listener(made, last_id=last)) == ["hello", "reset"]


def test_news_that_nobody_was_there_for_is_not_made_and_cannot_be_resumed() -> None:
    made = hub()
    client = listener(made)
    made.offer("rows", [1], T0)
    last = read(client)[-1][1]
    made.leave(client, T0)
    late = T0 + 400 * SECOND
    assert not made.is_wanted("rows", late)
    made.offer("rows", [2], late)
    assert names(listener(made, last_id=last)) == ["hello", "reset"]


def test_a_page_that_is_forgotten_is_not_waited_for() -> None:
    made = hub()
    made.leave(listener(made, "rows"), T0)
    assert made.is_wanted("rows", T0 + SECOND)
    made.forget_who_left()
    assert not made.is_wanted("rows", T0 + SECOND)


def test_the_id_of_a_reset_can_be_resumed_from() -> None:
    made = hub()
    client = listener(made, last_id="1.1.1")
    [(_, _, _), (_, last, _)] = read(client)
    made.offer("rows", [2], T0 + SECOND)
    assert names(listener(made, last_id=last)) == ["hello", "rows"]


def test_a_client_that_does_not_read_is_closed_and_the_others_are_not() -> None:
    made = hub()
    woken: list[str] = []
    slow = made.join(("rows",), "", lambda: woken.append("slow"), HELLO)
    quick = listener(made, "rows")
    piece = "x" * (MOST_BEHIND // 4)
    for step in range(5):
        made.offer("rows", [piece], T0 + step * SECOND)
        quick.take()
    assert slow.is_closed
    assert not slow.waiting
    assert woken
    assert not quick.is_closed


def test_there_is_room_for_so_many_clients_and_a_place_that_is_left_is_free() -> None:
    made = hub()
    clients = [listener(made) for _ in range(MOST_CLIENTS)]
    with pytest.raises(HubFull):
        listener(made)
    made.leave(clients[0], T0)
    assert listener(made) in made.clients


def test_a_line_break_in_a_name_cannot_make_an_event_of_its_own() -> None:
    made = hub()
    client = listener(made, "rows")
    made.offer("rows", ["evil\n\nevent: reset\ndata: {}"], T0)
    assert names(client) == ["hello", "rows"]
