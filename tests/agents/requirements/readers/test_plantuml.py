"""PlantUML as components and links."""

from typing import Any

import pytest

from agents.requirements.readers.diagrams import read_diagrams
from tests.tables import each_row

SHOP = """@startuml
!include <tupadr3/common>
title Shop
skinparam component {
  Style rectangle
}
left to right direction
' who uses it
actor "Customer" as buyer
:Clerk:
package "Back end" {
  [Order API] as api <<FastAPI>> #lightblue
  component "Mail worker" as mail
  queue jobs
}
database "Orders\\n(PostgreSQL)" as db
cloud Stripe
note right of api : the heart
note left of db
  --> nothing
end note
buyer -down-> api : orders
api --> db
jobs <.. api : puts
mail ..> jobs
api -[#red,dashed]r-> Stripe : "pays"
api -[hidden]- mail
[Search] --o db
@enduml"""


def read(text: str, fence: str = "```plantuml") -> dict[str, Any]:
    (found,) = read_diagrams(
        ["# Design", "", *([fence] if fence else []), *text.split("\n"), *(["```"] if fence else [])]
    )
    assert found["line"] == 3
    return found


def links(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(link["from"], link["to"], link["label"]) for link in found["links"]]


def test_components_are_read_with_their_shape_stereotype_and_group() -> None:
    parts = {part["name"]: part for part in read(SHOP)["parts"]}
    assert list(parts) == ["buyer", "Clerk", "Back end", "api", "mail", "jobs", "db", "Stripe", "Search"]
    assert {name: part["shape"] for name, part in parts.items() if part["shape"]} == {
        **{"buyer": "person", "Clerk": "person", "Back end": "group"},
        **{"jobs": "queue", "db": "database", "Stripe": "external"},
    }
    assert (parts["api"]["label"], parts["api"]["detail"]) == ("Order API", "FastAPI")
    assert parts["db"]["label"] == "Orders (PostgreSQL)"
    assert {name for name, part in parts.items() if part["group"] == "Back end"} == {"api", "mail", "jobs"}


def test_arrows_are_links_in_the_direction_of_their_tip_and_hidden_ones_are_none() -> None:
    assert links(read(SHOP)) == [
        ("buyer", "api", "orders"),
        ("api", "db", ""),
        ("api", "jobs", "puts"),
        ("mail", "jobs", ""),
        ("api", "Stripe", "pays"),
        ("Search", "db", ""),
    ]


@pytest.mark.parametrize("fence", ["```", "```puml", ""])
def test_a_diagram_is_known_by_its_first_line_too(fence: str) -> None:
    assert links(read("@startuml\nA-->B\n@enduml", fence)) == [("A", "B", "")]


def test_calls_of_the_c4_library_are_read_as_c4() -> None:
    found = read(
        '@startuml\n!include <C4/C4_Container>\nPerson(u, "Buyer")\nSystem_Boundary(s, "Shop") {\n'
        'Container(api, "API", $techn="Express")\nContainerDb(db, "Data", "MySQL")\n}\n'
        'Rel_D(u, api, "buys")\nRel_Back(db, api, "writes")\n@enduml'
    )
    assert found["kind"] == "C4"
    assert [(part["label"], part["shape"], part["detail"], part["group"]) for part in found["parts"]] == [
        ("Buyer", "person", "", ""),
        ("Shop", "group", "", ""),
        ("API", "", "Express", "s"),
        ("Data", "database", "MySQL", "s"),
    ]
    assert links(found) == [("u", "api", "buys"), ("api", "db", "writes")]


@each_row("line", ["A" + "-" * 1_900, "[" * 1_900, '"' * 1_900, "a-" * 900, "<<" * 900, "a.b" * 600])
def test_long_lines_cost_little(line: str) -> None:
    """Each would take hours if an expression tried every way to match it."""
    read_diagrams(["@startuml", *[line, f"component {line}", f"Rel({line}"] * 20, "@enduml"])
