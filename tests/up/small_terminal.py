"""A terminal of so many columns and rows, as far as a live view uses one."""

import io
import re

_CODE = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])")


class SmallTerminal(io.StringIO):
    """Looks like a stream; `rows` is what people see on it."""

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__()
        self.columns = columns
        self._height = rows
        self._rows = [""] * rows
        self._row = self._column = 0
        self.cursor_shown = True

    def isatty(self) -> bool:
        return True

    @property
    def rows(self) -> list[str]:
        return [row.rstrip() for row in self._rows]

    def write(self, text: str) -> int:
        place = 0
        while place < len(text):
            if code := _CODE.match(text, place):
                self._obey(code[1], code[2])
                place = code.end()
                continue
            self._put(text[place])
            place += 1
        return len(text)

    def resize(self, columns: int) -> None:
        """Rows that no longer fit are folded, as terminals do; the cursor stays with its row."""
        folded = [
            row[start : start + columns]
            for row in self._rows[: self._row + 1]
            for start in range(0, max(1, len(row.rstrip())), columns)
        ]
        folded = folded[-self._height :]
        self._row, self._column = len(folded) - 1, 0
        self._rows = [*folded, *[""] * (self._height - len(folded))]
        self.columns = columns

    def _put(self, letter: str) -> None:
        if letter == "\r":
            self._column = 0
        elif letter == "\n":
            self._next_row()
        else:
            if self._column == self.columns:
                self._next_row()
            row = self._rows[self._row].ljust(self._column)
            self._rows[self._row] = row[: self._column] + letter + row[self._column + 1 :]
            self._column += 1

    def _next_row(self) -> None:
        self._column = 0
        if self._row == self._height - 1:
            self._rows = [*self._rows[1:], ""]
        else:
            self._row += 1

    def _obey(self, words: str, code: str) -> None:
        number = int(words) if words.isdecimal() else 0
        match code:
            case "A":
                self._row = max(0, self._row - max(1, number))
            case "H":
                self._row = self._column = 0
            case "K":
                kept = "" if number == 2 else self._rows[self._row][: self._column]
                self._rows[self._row] = kept
            case "J":
                if number == 2:
                    self._rows = [""] * self._height
                else:
                    self._rows[self._row] = self._rows[self._row][: self._column]
                    self._rows[self._row + 1 :] = [""] * (self._height - self._row - 1)
            case "h" | "l" if words == "?25":
                self.cursor_shown = code == "h"
            case "m":
                pass
            case _:
                raise AssertionError(f"this terminal does not know {words}{code}")
