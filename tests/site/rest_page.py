"""The table of routes in docs/rest.md, from the routes themselves."""

from pathlib import Path

from bigfleet.web.openapi import all_operations
from tests.web.pages import no_fleet

PAGE = Path(__file__).parents[2] / "docs" / "rest.md"
BEGIN, END = "<!-- routes: written by `make reference` -->\n", "<!-- end of routes -->\n"


def route_table() -> str:
    lines = ["| route | parameters | answers |", "|---|---|---|"]
    for each in sorted(all_operations(no_fleet()), key=lambda each: (each.path, each.method)):
        params = ", ".join(f"`{p.name}`" for p in each.params if not p.in_path)
        mark = " (compatible)" if each.compatible else ""
        lines.append(f"| {each.method} `{each.path}`{mark} | {params} | {each.text} |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{route_table()}\n{END}{tail}"
