"""`bigfleet bench up` starts real fleets, ends them, and judges what they leave."""

import json

from click.testing import CliRunner

from bigfleet.cli.main import cli


def test_a_fleet_leaves_no_process_no_port_and_no_file_also_twice_side_by_side() -> None:
    answer = CliRunner().invoke(cli, ["bench", "up", "--for", "1s", "-o", "json"])
    assert answer.exit_code == 0, answer.output
    rows = {row["name"]: row for row in json.loads(answer.stdout)["measures"]}
    assert rows["ready, page and first cycle"]["budget"] == "<= 3"
    assert rows["resident memory, the most"]["budget"] == "<= 350"
    assert rows["Ctrl-C until it has ended"]["budget"] == "<= 2"
    left = [row for name, row in rows.items() if "left" in name or "both have" in name]
    assert len(left) == 7
    assert {row["name"]: row["value"] for row in left if row["value"]} == {}
