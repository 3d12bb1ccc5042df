"""What the drills inject: what `bigfleet status` says of each, what to do next, and what follows.

`python -m tests.drills.faults` writes the table of docs/at-3-am.md from it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "at-3-am.md"
BEGIN = "<!-- faults: made by `python -m tests.drills.faults`; do not edit -->\n"
END = "<!-- end of faults -->\n"
_TABLE = re.compile(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    #: What the finding's sentence says.
    says: str
    #: What stands after `next:`.
    remedy: str
    #: What BigFleet does meanwhile, and what ends it.
    meanwhile: str


PROVIDER_GONE = Fault(
    "provider gone",
    "provider sim has not answered since TIME (REASON); nothing new is asked of it",
    "bring provider sim at HOST:PORT back, it is then asked again by itself; who waits for it:"
    " bigfleet needs --unmet",
    "running machines are left alone, and other providers serve what they can",
)
STOCK_OUT = Fault(
    "stock-out",
    "offering NAME rests since TIME after failed Creates (stockout: REASON)",
    "what fits elsewhere is bought meanwhile; all of them, and how to reset them:"
    " bigfleet reports offerings",
    "the next-best offering is bought; one that rests is tried again by itself, ever more seldom",
)
SPOT_WAVE = Fault(
    "spot wave",
    "batch lost N Spot machines since TIME, the last at TIME: provider sim calls them Failed"
    " (spot: REASON)",
    "they are replaced by themselves; who still waits: bigfleet needs --unmet",
    "the Needs are covered again, cheapest first; the finding stays for a quarter of an hour",
)
FORGOTTEN_PAUSE = Fault(
    "forgotten pause",
    "everything is paused by ada since TIME, until TIME: REASON",
    "to lift it: bigfleet resume ID --reason WHY",
    "Lists, roll-ups and decisions go on, nothing is started; it ends by itself at that time",
)
ZERO_DEMAND = Fault(
    "zero demand",
    "roll-ups of cluster batch are held as suspicious since TIME (REASON): it keeps its machines",
    "if batch was emptied on purpose, believe it, else see that its operator reports all of its"
    " demand: bigfleet quarantines release rollup batch --accept --reason WHY",
    "the cluster keeps its machines; three such roll-ups over 20 s are believed, a normal one ends"
    " it at once",
)
QUOTA_USED_UP = Fault(
    "quota used up",
    "all N machines granted of sim in sim are in use",
    "nothing more is bought there; with a larger quota of the provider:"
    " bigfleet quotas set --provider sim --region sim --total TOTAL --reason WHY",
    "other regions and providers are bought, highest priority first",
)
DISK_FULL = Fault(
    "disk full",
    "the journal cannot be written: REASON: decisions go on, and are not recorded",
    "free or mend the disk of its data_dir on the shard's host; it is tried again all the time:"
    " df -h DATA_DIR",
    "bootstraps go on; while state.db cannot be written no new drain is begun; what is missing in"
    " the journal is told as a gap",
)
LOST_NODES = Fault(
    "lost Nodes",
    "cluster batch lost 2 machines since TIME, the last at TIME: their Nodes are gone",
    "they are given back and replaced by themselves; what happened to the last of them:"
    " bigfleet machines story ID",
    "of one cluster a fifth is given back at a time; if more than half is lost, after 5 min only",
)
FAULTS = (
    PROVIDER_GONE,
    STOCK_OUT,
    SPOT_WAVE,
    FORGOTTEN_PAUSE,
    ZERO_DEMAND,
    QUOTA_USED_UP,
    DISK_FULL,
    LOST_NODES,
)
#: What differs from night to night.
_BLANK = re.compile(r"\b(?:HOST:PORT|DATA_DIR|TIME|REASON|NAME|ID|N)\b")


def parts_of(text: str) -> list[str]:
    """What is there whenever it is said."""
    return [part for part in _BLANK.split(text) if part.strip()]


def fault_table() -> str:
    rows = ["| what happened | `bigfleet status` says | next | meanwhile |", "|---|---|---|---|"]
    for each in FAULTS:
        advice, colon, command = each.remedy.rpartition(": ")
        rows.append(
            f"| {each.name} | {each.says} | {advice}{colon}`{command}` | {each.meanwhile} |"
        )
    return "\n".join(rows) + "\n"


def table_on_page(text: str) -> str:
    found = _TABLE.search(text)
    assert found, f"{PAGE.name} has lost the marks around its table of faults"
    return found[1]


def main() -> None:
    text = PAGE.read_text()
    PAGE.write_text(_TABLE.sub(lambda _: BEGIN + fault_table() + END, text))


if __name__ == "__main__":
    main()
