"""Mermaid diagrams as components and links."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.requirements.readers.diagrams import image_note, in_words, read_diagrams
from tests.sizes import scaled
from tests.tables import each_row

FLOW = """flowchart LR
  %% what talks to what
  user([User]) -->|clicks| web["Web (front)"]
  web -- reads --> db[(Database)] & cache{{Cache}}
  web -.-> api-gateway:::hot ==> db
  subgraph back [Back end]
    db --- disk
  end
  a --> b --> c; c --> d
  style web fill:#f9f
"""
SEQUENCE = """sequenceDiagram
  autonumber
  actor U as User
  participant W as Web
  U->>+W: log in
  W-->>-U: token
  Note over U,W: fast
  loop every hour
    W-)Mail: news
  end
"""
CLASS = """classDiagram
  class Animal["An animal"] {
    +int age
    +eat() void
  }
  Animal <|-- Duck : is
  Cart "1" *-- "many" Item
"""
STATE = """stateDiagram-v2
  state "Is open" as open
  [*] --> open
  open --> closed : after 5 min
"""
ENTITY = """erDiagram
  CUSTOMER ||--o{ ORDER : places
  ORDER {
    int id
  }
  LINE-ITEM }|..|{ ORDER : "belongs to"
"""
C4 = """C4Context
  title Shop
  Person(u, "Customer", "buys, returns")
  System_Boundary(b, "Shop") {
    System(s, "Web shop", "sells")
  }
  Rel(u, s, "orders", "HTTPS")
  UpdateRelStyle(u, s, $offsetY="-40")
"""


def read(body: str, fence: str = "```mermaid") -> dict[str, Any]:
    (found,) = read_diagrams(["# Architecture", "", fence, *body.split("\n"), "```"])
    assert found["line"] == 3
    return found


def links(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(link["from"], link["to"], link["label"]) for link in found["links"]]


def labels(found: dict[str, Any]) -> dict[str, str]:
    return {part["name"]: part["label"] for part in found["parts"]}


def test_a_flowchart_is_its_nodes_and_arrows() -> None:
    found = read(FLOW)
    assert found["kind"] == "flowchart"
    expected = {"user": "User", "web": "Web (front)", "db": "Database", "cache": "Cache", "back": "Back end"}
    assert expected.items() <= labels(found).items()
    assert links(found) == [
        ("user", "web", "clicks"),
        ("web", "db", "reads"),
        ("web", "cache", "reads"),
        ("web", "api-gateway", ""),
        ("api-gateway", "db", ""),
        ("db", "disk", ""),
        *(("a", "b", ""), ("b", "c", ""), ("c", "d", "")),
    ]


def test_what_a_part_is_drawn_as_is_kept() -> None:
    parts = {part["name"]: part for part in read(FLOW + '  q@{ shape: das, label: "Jobs" }\n')["parts"]}
    shapes = {name: part["shape"] for name, part in parts.items() if part["shape"]}
    assert shapes == {"db": "database", "back": "group", "q": "queue"}
    assert parts["api-gateway"]["detail"] == "hot"
    assert (parts["disk"]["group"], parts["q"]["label"]) == ("back", "Jobs")
    assert [part["shape"] for part in read(C4)["parts"]] == ["person", "group", ""]


@each_row(
    ("body", "kind", "parts", "expected"),
    [
        (
            SEQUENCE,
            "sequence",
            {"U": "User", "W": "Web", "Mail": "Mail"},
            [("U", "W", "log in"), ("W", "U", "token"), ("W", "Mail", "news")],
        ),
        (
            CLASS,
            "class",
            {"Animal": "An animal", "Duck": "Duck", "Cart": "Cart", "Item": "Item"},
            [("Animal", "Duck", "is"), ("Cart", "Item", "")],
        ),
        (
            STATE,
            "state",
            {"open": "Is open", "[*]": "[*]", "closed": "closed"},
            [("[*]", "open", ""), ("open", "closed", "after 5 min")],
        ),
        (
            ENTITY,
            "entity",
            {"CUSTOMER": "CUSTOMER", "ORDER": "ORDER", "LINE-ITEM": "LINE-ITEM"},
            [("CUSTOMER", "ORDER", "places"), ("LINE-ITEM", "ORDER", "belongs to")],
        ),
        (C4, "C4", {"u": "Customer", "b": "Shop", "s": "Web shop"}, [("u", "s", "orders")]),
    ],
    ids=["sequence", "class", "state", "entity", "C4"],
)
def test_other_diagrams_are_their_components_and_links(
    body: str, kind: str, parts: dict[str, str], expected: list[tuple[str, str, str]]
) -> None:
    found = read(body)
    assert found["kind"] == kind
    assert labels(found) == parts
    assert links(found) == expected


def test_a_diagram_is_known_by_its_first_word_where_the_fence_names_no_language() -> None:
    assert links(read("graph TD\nA-->B", "```")) == [("A", "B", "")]
    assert links(read("---\ntitle: x\n---\ngraph TD\nA--sends-->B")) == [("A", "B", "sends")]


def test_other_code_and_other_kinds_are_left_out() -> None:
    assert read_diagrams(["```python", "graph = 1", "```", "```mermaid", "pie", '"a" : 1', "```", "```mermaid"]) == []


def test_a_planner_reads_labels_instead_of_names() -> None:
    assert in_words([read(C4)]) == "C4 diagram, line 3: Customer, Shop, Web shop\n- Customer -> Web shop (orders)"


def test_images_are_named_with_their_lines() -> None:
    assert image_note(["![a](b.png)", "text", '<img src="x">']).endswith("(line 1, 3).")
    assert image_note(["text"]) == ""


@given(
    st.lists(st.text(alphabet='AB-->.=|[](){}"&;: xo<~`', max_size=60), max_size=12),
    st.sampled_from(["graph TD", "sequenceDiagram", "classDiagram", "erDiagram", "C4Context"]),
)
def test_whatever_stands_in_a_diagram_is_survived(body: list[str], kind: str) -> None:
    for found in read_diagrams(["```mermaid", kind, *body, "```"]):
        in_words([found])


@pytest.mark.whole
@each_row(
    ("line", "kind"),
    product(
        ["A" + "-" * 1_900, "A[" * 900, '"' * 1_900, "a-" * 900, "A & " * 450, "(" * 1_900],
        ["graph TD", "sequenceDiagram", "classDiagram", "erDiagram", "C4Context"],
    ),
)
def test_long_lines_cost_little(line: str, kind: str) -> None:
    """Each would take hours if an expression tried every way to match it."""
    read_diagrams(["```mermaid", kind, *[line] * scaled(20), "```"])
