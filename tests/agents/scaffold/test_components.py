"""What the parts of a diagram are, by shapes and words; what is not told becomes a question."""

from pathlib import Path

import pytest

from agents.requirements.readers.diagrams import read_diagrams
from agents.scaffold.components import Architecture, NoArchitecture, package_of, read_architecture
from agents.scaffold.source import read_source
from tests.tables import each_row

DIAGRAMS = Path(__file__).with_name("diagrams")


def no_sandbox() -> None:
    raise AssertionError("these files are text")


def architecture(name: str) -> Architecture:
    return read_architecture(read_source(DIAGRAMS / name, no_sandbox).diagrams)  # type: ignore[arg-type]


def drawn(*lines: str) -> Architecture:
    return read_architecture(read_diagrams(["```mermaid", "flowchart LR", *lines, "```"]))


def kind(label: str) -> str:
    """Kind and technology of a part with this label; a second part makes the diagram one that can be started."""
    found = drawn(f'x["{label}"]', 'other["Other API (FastAPI)"]').components[0]
    return " ".join(filter(None, (found.kind, found.technology)))


@each_row(
    ("name", "expected"),
    [
        (
            "flowchart.md",
            {
                **{"customer": "person", "web-app": "web react", "order-api": "service fastapi"},
                **{"orders-postgresql": "database postgresql", "redis-cache": "cache redis"},
                **{"job-queue-rabbitmq": "queue rabbitmq", "mail-worker": "worker python", "sendgrid": "external"},
                **{"payment-service": "service fastapi", "admin-cli": "cli python"},
            },
        ),
        (
            "c4.md",
            {
                **{"customer": "person", "single-page-app": "web react", "accounts-api": "service express"},
                **{"statement-job": "worker node", "accounts": "database mysql", "events": "queue kafka"},
                **{"e-mail-system": "external"},
            },
        ),
        (
            "plantuml.puml",
            {
                **{"user": "person", "tracking-api": "service fastapi", "position-consumer": "worker python"},
                **{"fleet-dashboard": "web react", "positions": "database postgresql", "route-planner": "open"},
                **{"positions-queue": "queue rabbitmq", "google-maps": "external"},
            },
        ),
        (
            "drawio.drawio",
            {
                "web-portal": "web react",
                "tickets": "database postgresql",
                "ticket-api": "service fastapi",
                "agent": "person",
            },
        ),
        (
            "messy.md",
            {
                **{"mobile-app-flutter": "open", "api-gateway": "service fastapi", "b": "open", "notifier": "open"},
                **{"user-svc": "service fastapi", "hamster-service-node-js": "service node", "kafka": "queue kafka"},
                **{"users": "database postgresql", "hamsters-mongo": "database mongodb", "redis": "cache redis"},
                **{"firebase": "external", "auth0": "external", "service": "service fastapi"},
            },
        ),
    ],
)
def test_each_kind_of_diagram_becomes_components(name: str, expected: dict[str, str]) -> None:
    found = architecture(name).components
    assert {one.slug: " ".join(filter(None, (one.kind, one.technology))) for one in found} == expected


@each_row(
    ("label", "expected"),
    [
        ("Orders API (Express)", "service express"),
        ("Front end", "web react"),
        ("Web API (TypeScript)", "service node"),
        ("Web app (FastAPI)", "web fastapi"),
        ("Report worker (Node)", "worker node"),
        ("Order database", "database postgresql"),
        ("Session cache", "cache redis"),
        ("Queue worker", "worker python"),
        ("Order queue (Kafka)", "queue kafka"),
        ("Order service (Postgres)", "open"),  # a service, or its database?
        ("Thing", "open"),
        ("Search service (Go)", "service"),
        ("Stripe", "external"),
        ("Users", "person"),
        ("User service", "service fastapi"),
        ("Google Maps", "external"),
        ("C# API", "service"),
        ("Cargo API (FastAPI)", "service fastapi"),
    ],
)
def test_words_decide(label: str, expected: str) -> None:
    assert kind(label) == expected


def test_whatever_is_assumed_or_left_open_is_a_question() -> None:
    questions = "\n".join(architecture("messy.md").questions)
    for said in (
        "Mobile app / Flutter: Flutter is not among what is started here",
        "API Gateway: no technology is named, so it is started with FastAPI",
        "users: no technology is named, so it is started with PostgreSQL",
        "Notifier: what is it?",
        "A link with the group Clients is not followed",
    ):
        assert said in questions
    assert architecture("c4.md").questions == ()


def test_a_link_is_a_need_and_one_from_a_store_is_its_readers() -> None:
    found = drawn("a[A API]-->q[(Jobs)]", "q-->w[B worker]", "a-->a", "a-->w")
    assert {one.slug: one.needs for one in found.components} == {
        "a-api": ("jobs", "b-worker"),
        "jobs": (),
        "b-worker": ("jobs",),
    }


def test_of_several_diagrams_the_one_with_most_to_start_is_taken() -> None:
    lines = ["```mermaid", "graph LR", "u[User]-->s[Buy]", "```", "```mermaid", "graph LR", "a[A API]-->b[(B)]", "```"]
    found = read_architecture(read_diagrams(lines))
    assert found.line == 5
    assert "The diagram on line 1 is not used." in found.questions
    with pytest.raises(NoArchitecture, match="line 1 has no program"):
        read_architecture(read_diagrams(lines), 1)
    with pytest.raises(NoArchitecture, match="No diagram begins on line 2"):
        read_architecture(read_diagrams(lines), 2)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["# Text", "![x](a.png)"], "no diagram that can be read"),
        (["```mermaid", "erDiagram", "A ||--o{ B : has", "```"], "found: entity"),
        (["```mermaid", "graph LR", "u[User]-->v[Customer]", "```"], "it names: User, Customer"),
        (["```mermaid", "graph LR", "a[(Only data)]", "```"], "has no program"),
    ],
)
def test_a_document_without_an_architecture_is_refused_with_what_it_has(lines: list[str], said: str) -> None:
    with pytest.raises(NoArchitecture, match=said) as refused:
        read_architecture(read_diagrams(lines))
    assert refused.value.hint


def test_names_are_unlike_and_hide_no_module() -> None:
    found = drawn("a[Email API]", "b[Email-API]", "c[日本語 API]", "d[12 API]", "e[日本語 service]")
    assert [one.slug for one in found.components] == ["email-api", "email-api-2", "api", "c-12-api", "service"]
    assert package_of("email") == "email_app"
    assert package_of("fastapi") == "fastapi_app"
    assert package_of("order-api") == "order_api"
