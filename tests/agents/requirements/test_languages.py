"""Documents in other languages and shapes are read like English ones."""

import pytest

from agents.requirements.extract import extract
from tests.tables import each_row


def kinds(text: str) -> list[tuple[str, tuple[int, int]]]:
    return [(r.kind, r.lines) for r in extract(text).requirements]


@each_row(
    "text",
    [
        "## Anforderungen\n- Rechnungen als PDF\n\n## Nicht enthalten\n- Mahnungen\n\n## Offene Fragen\n- Wer prüft?\n",
        "## Exigences\n- Factures en PDF\n\n## Hors périmètre\n- Relances\n\n## Questions\n- Qui vérifie ?\n",
        "## Requisitos\n- Facturas en PDF\n\n## Fuera de alcance\n- Avisos\n\n## Pendientes\n- ¿Quién revisa?\n",
        "## Requisiti\n- Fatture in PDF\n\n## Esclusi\n- Solleciti\n\n## Da chiarire\n- Chi controlla?\n",
        "## Requisitos\n- Faturas em PDF\n\n## Fora do escopo\n- Avisos\n\n## Dúvidas\n- Quem confere?\n",
        "## Eisen\n- Facturen als PDF\n\n## Buiten de scope\n- Herinneringen\n\n## Open vragen\n- Wie kijkt na?\n",
        "## Wymagania\n- Faktury w PDF\n\n## Poza zakresem\n- Ponaglenia\n\n## Pytania\n- Kto sprawdza?\n",
        "## Требования\n- Счета в PDF\n\n## Вне рамок\n- Напоминания\n\n## Открытые вопросы\n- Кто проверяет?\n",
        "## Gereksinimler\n- PDF faturalar\n\n## Kapsam dışı\n- Hatırlatmalar\n\n## Sorular\n- Kim denetler?\n",
        "## 需求\n- 发票导出为 PDF\n\n## 非目标\n- 催款\n\n## 待确认\n- 谁来审核\uff1f\n",
        "## 要件\n- 請求書をPDFで出力する\n\n## 対象外\n- 督促\n\n## 未決事項\n- 誰が確認するか\n",
        "## 요구사항\n- 청구서를 PDF로 내보낸다\n\n## 범위 밖\n- 독촉\n\n## 질문\n- 누가 확인하나?\n",
    ],
)
def test_sections_say_what_is_asked_for_excluded_and_open_in_twelve_languages(text: str) -> None:
    found = extract(text)
    assert kinds(text) == [("functional", (2, 2)), ("non_goal", (5, 5))]
    assert [question.lines for question in found.questions] == [(8, 8)]


@each_row(
    "text",
    [
        "Das Wetter ist schön. Die Liste muss sortiert sein.",
        "Il fait beau. La liste doit être triée.",
        "Hace sol. La lista debe estar ordenada.",
        "Mooi weer. De lijst moet gesorteerd zijn.",
        "Jest ciepło. Lista musi być posortowana.",
        "Тепло. Список должен быть отсортирован.",
        "天气很好。列表必须排序。",
        "いい天気です。一覧は並べ替えなければならない。",
    ],
)
def test_the_demanding_sentence_is_found_in_prose(text: str) -> None:
    found = extract(f"# Text\n\n{text}\n")
    assert len(found.requirements) == 1
    assert found.requirements[0].text in text
    assert found.requirements[0].text != text


@pytest.mark.parametrize(
    ("text", "scenarios"),
    [
        (
            "Feature: A\n  So that B\n\n  Background:\n    Given C\n\n  @x\n  Scenario: D\n    When E\n    Then F\n",
            [(7, 10)],
        ),
        ("# language: de\nFunktionalität: A\n\n  Szenario: B\n    Wenn C\n\n    Dann D\n", [(4, 7)]),
        ("Característica: A\n\n  Escenario: B\n    Cuando C\n\n  Ejemplo: D\n    Entonces E\n", [(3, 4), (6, 7)]),
        ("功能: 甲\n\n  场景大纲: 乙\n    当 <丙>\n\n    例子:\n      | 丙 |\n      | 1 |\n", [(3, 8)]),
    ],
)
def test_a_scenario_is_one_requirement_in_any_language(text: str, scenarios: list[tuple[int, int]]) -> None:
    assert [lines for _, lines in kinds(text)] == scenarios


def test_a_scenario_that_is_tagged_as_dropped_is_none() -> None:
    assert kinds("Feature: A\n\n  @wontfix\n  Scenario: B\n    Given C\n") == [("non_goal", (3, 5))]


def test_ids_in_a_fence_are_requirements_and_ids_in_data_are_not() -> None:
    text = "## Needs\n\n```\nVIN-01   Works offline.\nVIN-02   Costs little, and\n         runs for years.\n```\n\n"
    found = extract(text + '```json\n{"id": "VIN-03"}\n```\n')
    assert [(r.author_key, r.lines) for r in found.requirements] == [("VIN-01", (4, 4)), ("VIN-02", (5, 6))]


def test_a_bullet_that_is_only_a_title_gives_way_to_its_bullets() -> None:
    assert kinds("## Features\n- Search\n  - Names are found by their parts\n  - Accents do not matter\n") == [
        ("functional", (3, 3)),
        ("functional", (4, 4)),
    ]


def test_what_is_struck_out_or_withdrawn_is_not_built() -> None:
    text = "## Requirements\n- ~~FR-1: Fees.~~\n- FR-2: (withdrawn) Fines.\n- FR-4: If a job is dropped, log it.\n"
    assert kinds(text) == [("non_goal", (2, 2)), ("non_goal", (3, 3)), ("functional", (4, 4))]


def test_quoted_mail_and_signatures_ask_for_nothing() -> None:
    text = (
        "From: Ann\nTo: Ben\nSubject: list\n\nWe need the list in Polish.\nPlease no approval step.\n\n"
        "> The list must be blue.\n\n--\nYou must not forward this.\n"
    )
    assert kinds(text) == [("functional", (5, 5)), ("non_goal", (6, 6))]


def test_decisions_count_in_minutes_and_what_was_said_before_them_does_not() -> None:
    text = (
        "## 1. Kasse\n\nRuud erzählt von früher.\n\n**Beschluss:** Bons werden gedruckt.\n\n"
        "**Beschluss:** Keine App.\n\nUnklar ist, wer bezahlt.\n"
    )
    assert kinds(text) == [("functional", (5, 5)), ("non_goal", (7, 7))]
    assert [question.lines for question in extract(text).questions] == [(9, 9)]


def test_a_marked_gap_in_a_requirement_is_a_question_beside_it() -> None:
    found = extract("## Requirements\n- **FR-8**: System MUST free tools after [NEEDS CLARIFICATION: how long?].\n")
    assert [r.author_key for r in found.requirements] == ["FR-8"]
    assert [question.lines for question in found.questions] == [(2, 2)]


def test_a_removed_requirement_of_a_change_is_an_exclusion() -> None:
    text = (
        "## ADDED Requirements\n### Requirement: Reminder\nThe system SHALL remind.\n#### Scenario: late\n"
        "- **WHEN** late\n- **THEN** remind\n## REMOVED Requirements\n### Requirement: Chat\n**Reason**: privacy\n"
    )
    assert kinds(text) == [("functional", (2, 6)), ("non_goal", (8, 8))]


def test_an_endpoint_is_one_requirement_with_what_is_said_of_it() -> None:
    text = "# API\n\n## Endpoints\n\n### GET /loans\n\nLists loans.\n\n- 200\n\n### POST /loans\n\nAdds one.\n"
    assert [lines for _, lines in kinds(text)] == [(5, 9), (11, 13)]


def test_options_of_a_command_are_requirements_under_headings_of_restructuredtext() -> None:
    text = "tool\n====\n\nOptions\n~~~~~~~\n\n--all  Shows all.\n-q, --quiet  Prints nothing,\n    not even errors.\n"
    assert [lines for _, lines in kinds(text)] == [(7, 7), (8, 9)]


def test_rows_that_define_fields_are_requirements_and_rows_of_values_are_not() -> None:
    text = "## 文件\n\n| 字段 | 类型 |\n|---|---|\n| id | 整数 |\n\n## 功能\n\n| 区 | 元 |\n|---|---|\n| A | 3 |\n"
    assert kinds(text) == [("functional", (5, 5))]


def test_a_row_with_the_priority_wont_is_an_exclusion() -> None:
    text = "## Features\n\n| ID | Feature | Priority |\n|---|---|---|\n| F-1 | Save | must |\n| F-2 | Sync | won't |\n"
    assert [kind for kind, _ in kinds(text)] == ["functional", "non_goal"]


def test_ids_of_open_questions_and_excluded_headings_are_no_tasks() -> None:
    text = "## Offene Punkte\n- OP-1: Wer prüft das?\n- OP-2: Wann?\n\n## Nicht enthalten\n### FR-9: App\nNichts.\n"
    assert kinds(text) == [("non_goal", (6, 7))]
    assert [question.lines for question in extract(text).questions] == [(2, 2), (3, 3)]


def test_each_demand_of_a_paragraph_is_a_requirement_with_what_details_it() -> None:
    text = "## Anforderungen\n\nDie Liste muss sortiert sein. Der Name zählt.\nSie muss gedruckt werden.\n"
    assert kinds(text) == [("functional", (3, 3)), ("functional", (4, 4))]
