"""Every effective setting with where it came from."""

from bigfleet.cli.output import Output
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.values import text_of

COLUMNS = ("KEY", "VALUE", "ORIGIN", "SIGHUP")


def settings_bytes(configuration: Configuration, output: Output) -> bytes:
    """In the form that -o asks for."""
    from bigfleet.cli.tables import document_bytes

    if output.is_document:
        return document_bytes(_document(configuration), output)
    return _page(configuration, output).encode()


def _page(configuration: Configuration, output: Output) -> str:
    """Values are written as a config file would hold them."""
    from bigfleet.cli.table_text import Text
    from bigfleet.cli.tables import Page, table_of
    from bigfleet.cli.terminal import escaped

    table = table_of(*COLUMNS, kind="setting")
    for name, setting in configuration.settings.items():
        value = text_of(setting.key, setting.value) or '""'
        reloadable = "yes" if setting.key.reloadable else ""
        table.add_row(*(Text(escaped(each)) for each in (name, value, setting.origin, reloadable)))
    page = Page(color=False, width=None, output=output)
    page.show(table)
    return page.text()


def _document(configuration: Configuration) -> dict[str, object]:
    """Durations are seconds, sizes are bytes."""
    return {
        name: {
            "value": setting.value,
            "origin": setting.origin,
            "reloadable": setting.key.reloadable,
        }
        for name, setting in configuration.settings.items()
    }
