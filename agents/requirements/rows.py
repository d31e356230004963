"""Requirements in tables."""

from __future__ import annotations

from collections.abc import Mapping

from agents.requirements.drafts import ID_WORD, Draft
from agents.requirements.ids import IdMatch, bare_id, defined_id
from agents.requirements.languages import says, wording
from agents.requirements.legend import Mark, verdict_of
from agents.requirements.model import KINDS, Kind
from agents.requirements.sections import Role, heading_role
from agents.requirements.tables import Table, TableRow

# What is said about a requirement rather than by it.
ASIDE = frozenset(
    "priority status owner estimate effort persona actor phase sprint moscow priorität priorité prioridad prioridade "
    "prio wichtigkeit source origin quelle herkunft origen fuente origine origem fonte bron źródło источник kaynak "
    "decision verdict state entscheidung beschluss stand décision decisión decisione decisão besluit decyzja решение "
    "karar 决定 決定 결정 来源 出典 출처 version release stufe étape etapa fase etap этап aşama 阶段 段階 단계 wer who "
    "état stan durum "
    "priorità prioriteit priorytet приоритет öncelik 优先级 優先度 우선순위 estado stato статус 状态".split()
)
_MAX_VERDICT = 30
_TRACE = tuple("test cover trace task verif implement module component maps owner status file".split())


def table_drafts(table: Table, role: Role, families: frozenset[str], *, design: bool) -> list[Draft]:
    """One draft per row; none when the table is about something else."""
    if _is_register(table):
        return []
    ids = table.id_column()
    names = [_name(name) for name in table.header]
    if ids >= 0:
        matches = [_id_of(row.cell(ids), families) for row in table.rows]
        if any(matches):
            return _rows_with_ids(table, role, names, ids, matches)
    asks = any(heading_role(name) in ("functional", "story", "non_functional") for name in names)
    # A table of fields says what a format must hold, wherever it stands.
    asks = asks or (names != [] and _any("field", names[:1]) and _any("field_type", names[1:]))
    if role == "mute" or (role in ("prose", "goal") and not asks):
        return []
    if not asks and role in ("functional", "non_functional") and _only_values(table):
        return []
    kind: Kind = "constraint" if role == "design" else role if role in KINDS else "functional"
    if role == "design" and not design:
        return []
    return [_draft(row, kind, _text(row, names, set()), names) for row in table.rows if any(map(any, row.cells))]


def _rows_with_ids(table: Table, role: Role, names: list[str], ids: int, matches: list[IdMatch | None]) -> list[Draft]:
    weak = role == "mute" or _is_trace(names, ids)
    drafts: list[Draft] = []
    for row, found in zip(table.rows, matches, strict=True):
        if found is None:
            if drafts and not row.cell(ids):
                # A row without an id goes on with the row above it.
                drafts[-1].add(_text(row, names, {ids}), ("table", row.a, row.b, ""))
            else:
                drafts.append(_draft(row, role if role in KINDS else "functional", _text(row, names, set()), names))
            continue
        kind: Kind = found.kind or (role if role in KINDS else "functional")
        if role == "non_goal":
            kind = "non_goal"
        criteria = {i for i, name in enumerate(names) if heading_role(name) == "acceptance"}
        draft = _draft(row, kind, _text(row, names, {ids} | criteria), names)
        draft.key, draft.family, draft.weak = found.key, found.prefix, weak
        for column in sorted(criteria):
            if column < len(row.cells):
                draft.acceptance += [" ".join(part.split()) for part in row.cells[column] if part]
        drafts.append(draft)
    return drafts


def _id_of(cell: str, families: frozenset[str]) -> IdMatch | None:
    found = defined_id(f"{bare_id(cell)}: x") if bare_id(cell) else None
    if found is None:
        return None
    # Ids in a column are a family by standing in it.
    return found if found.known or found.prefix in families or {"-", "_"} & set(found.key) else None


def _is_trace(names: list[str], ids: int) -> bool:
    """A table that follows requirements up (tests, tasks, owners) defines none."""
    others = [name for i, name in enumerate(names) if i != ids and name not in ASIDE]
    return bool(others) and all(any(word in name for word in _TRACE) for name in others)


def _is_register(table: Table) -> bool:
    """A table whose rows begin with several ids each refers to requirements."""
    counts = [len(ID_WORD.findall(row.cell(0))) for row in table.rows]
    return all(counts) and max(counts, default=0) > 1


def _draft(row: TableRow, kind: Kind, text: str, names: list[str]) -> Draft:
    draft = Draft(row.a, row.b, kind, [text], source="row")
    draft.blocks = [("table", row.a, row.b, " | ".join(row.cell(i) for i in range(len(row.cells))))]
    title = next((i for i, name in enumerate(names) if name in ("title", "name", "feature")), -1)
    draft.title = row.cell(title) if title >= 0 else ""
    return draft


def row_verdict(table: Table, row: TableRow, marks: Mapping[str, Mark]) -> Mark | None:
    """Whether a short cell says that the row is not built, or not decided."""
    aside = [i for i, name in enumerate(table.header) if _name(name) in ASIDE]
    for column in range(len(row.cells)):
        cell = row.cell(column)
        if not 0 < len(cell) <= _MAX_VERDICT:
            continue
        told = marks.get(cell) or (verdict_of(cell) if column in aside else None)
        # Of must, should, could and won't.
        if cell == "W" and column in aside and any(other.cell(column) == "M" for other in table.rows):
            told = "non_goal"
        if column and len(cell.split()) < 3 and says("ended", cell):
            told = "non_goal"
        if told:
            return told
    return None


def _name(header: str) -> str:
    return header.strip().strip("*_`").lower()


def _only_values(table: Table) -> bool:
    """Whether most rows have no cell that could be a statement: prices, measurements, samples."""
    stating = sum(any(_states(row.cell(i)) for i in range(len(row.cells))) for row in table.rows)
    return stating * 2 <= len(table.rows)


def _states(cell: str) -> bool:
    return sum(any(map(str.isalpha, word)) for word in cell.split()) > 3 or (not cell.isascii() and len(cell) > 9)


def _any(name: str, columns: list[str]) -> bool:
    return any(wording(name).search(column) is not None for column in columns)


def _text(row: TableRow, names: list[str], skip: set[int]) -> str:
    aside = {i for i, name in enumerate(names) if name in ASIDE}
    columns = [i for i in range(len(row.cells)) if i not in skip]
    main = [i for i in columns if i not in aside] or columns
    return " — ".join(text for i in main if (text := row.cell(i)))
