"""Tables: Markdown ones, and those a word processor flattened into one cell per line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.requirements.ids import bare_id
from agents.requirements.sections import heading_number, heading_role, is_known_title

_SEPARATOR = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CELL_END = re.compile(r"(?<!\\)\|")
_ID_HEADER = re.compile(
    r"^(?:id|#|no\.?|ref\.?|key|(?:req(?:uirement)?|story|us|fr|nfr)[ -]?(?:id|no\.?|#|number)?)$", re.I
)
_MAX_COLUMNS = 8
_MAX_PIPES = 100
_MAX_HEADER = 48


@dataclass(slots=True)
class TableRow:
    """Cells and their lines; a flattened cell may hold several paragraphs."""

    a: int
    b: int
    cells: list[list[str]]

    def cell(self, column: int) -> str:
        """The text of a cell; empty when the row is short."""
        return " ".join(self.cells[column]) if column < len(self.cells) else ""


@dataclass(slots=True)
class Table:
    """Header cells (maybe none), rows, and the lines it covers."""

    a: int
    b: int
    header: list[str]
    rows: list[TableRow]

    def id_column(self) -> int:
        """The column whose cells are ids, or -1."""
        for column in range(min(2, max((len(r.cells) for r in self.rows), default=0))):
            ids = sum(1 for row in self.rows if bare_id(row.cell(column)))
            if ids and ids * 2 >= len(self.rows):
                return column
        return -1


def pipe_table(lines: Sequence[str], start: int) -> Table | None:
    """The Markdown table that begins at index `start`, if one does."""
    first = lines[start].strip()
    if start + 1 >= len(lines) or not 0 < first.count("|") <= _MAX_PIPES:
        return None
    has_header = "|" in lines[start + 1] and bool(_SEPARATOR.match(lines[start + 1][:2000]))
    if not has_header and not (first.startswith("|") and first.endswith("|") and len(first) > 1):
        return None
    stop, rows = start, []
    while stop < len(lines) and 0 < lines[stop].count("|") <= _MAX_PIPES:
        line = lines[stop].strip()
        if not has_header and not line.startswith("|"):
            break
        if not _SEPARATOR.match(line[:2000]):
            rows.append(TableRow(stop + 1, stop + 1, [_cell_parts(c) for c in _cells(line)]))
        stop += 1
    if not has_header and len(rows) < 2:
        return None
    header = [" ".join(c) for c in rows[0].cells] if has_header and rows else []
    return Table(start + 1, stop, header, rows[1:] if has_header else rows)


def separated_table(lines: Sequence[str], start: int) -> Table | None:
    """The rows of a spreadsheet, with semicolons or tabs between cells, that begin at index `start`, if they do."""
    sign = "\t" if "\t" in lines[start] else ";"
    width, stop = lines[start].count(sign), start
    if not 2 <= width <= _MAX_COLUMNS:
        return None
    if sign == ";" and not any(heading_role(cell) == "functional" for cell in lines[start].split(";")):
        return None  # an example of data
    # Empty cells at the end of a row have no tabs.
    least = width if sign == ";" else 1
    while stop < len(lines) and lines[stop].strip() and least <= lines[stop].count(sign) <= width:
        stop += 1
    if stop - start < 3:
        return None
    split = [[[cell.strip(' "')] for cell in line.split(sign)] for line in lines[start:stop]]
    rows = [TableRow(start + n + 1, start + n + 1, cells) for n, cells in enumerate(split)]
    return Table(start + 1, stop, [cell[0] for cell in split[0]], rows[1:])


def flat_table(lines: Sequence[str], start: int) -> Table | None:
    """The flattened table whose header begins at index `start`, if one does."""
    if _ID_HEADER.match(lines[start].strip()):
        return _flat_with_ids(lines, start)
    if start == 0 or not lines[start - 1].strip():
        return _flat_even(lines, start)
    return None


def _flat_with_ids(lines: Sequence[str], start: int) -> Table | None:
    header = _run(lines, start)
    if not 2 <= len(header) <= _MAX_COLUMNS or any(len(h) > _MAX_HEADER for h in header):
        return None
    rows: list[TableRow] = []
    at = end = _skip_blank(lines, start + len(header))
    if at == start + len(header):
        return None
    while at < len(lines):
        run = _run(lines, at, _MAX_COLUMNS + 1)
        if bare_id(run[0]) and 2 <= len(run) <= len(header):
            rows.append(TableRow(at + 1, at + len(run), [[cell] for cell in run]))
        elif rows and len(run) == 1 and not _is_heading(run[0]):
            # A further paragraph of the last cell.
            rows[-1].cells[-1].append(run[0])
            rows[-1].b = at + 1
        else:
            break
        end = at + len(run)
        at = _skip_blank(lines, end)
    return Table(start + 1, end, header, rows) if rows else None


def _flat_even(lines: Sequence[str], start: int) -> Table | None:
    header = _run(lines, start)
    width = len(header)
    if not 3 <= width <= _MAX_COLUMNS:
        return None
    if any(len(h) > _MAX_HEADER or h[-1] in ".:;,!?" or not h[0].isalpha() or h[0].islower() for h in header):
        return None
    rows: list[TableRow] = []
    end = start + width
    at = _skip_blank(lines, end)
    while at < len(lines) and at > end - 1:
        run = _run(lines, at, width + 1)
        if len(run) != width or _is_heading(run[0]) or run[0].startswith(("-", "*", "#")):
            break
        rows.append(TableRow(at + 1, at + width, [[cell] for cell in run]))
        end = at + width
        at = _skip_blank(lines, end)
        if at == end:
            break
    return Table(start + 1, end, header, rows) if len(rows) >= 2 else None


def _is_heading(line: str) -> bool:
    return line.startswith("#") or bool(heading_number(line)) or is_known_title(line)


def _run(lines: Sequence[str], start: int, most: int = _MAX_COLUMNS + 1) -> list[str]:
    """Neighbouring lines that are not blank, at most `most`."""
    run: list[str] = []
    while start + len(run) < len(lines) and len(run) < most and lines[start + len(run)].strip():
        run.append(lines[start + len(run)].strip())
    return run


def _skip_blank(lines: Sequence[str], at: int) -> int:
    # Three blank lines end a table; also keeps this from walking far.
    for step in range(4):
        if at + step >= len(lines) or lines[at + step].strip():
            return at + step
    return len(lines)


def _cells(line: str) -> list[str]:
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(line)]


def _cell_parts(cell: str) -> list[str]:
    parts = [part.strip() for part in re.split(r"<br\s{0,3}/?>", cell)]
    return [part for part in parts if part] or [""]
