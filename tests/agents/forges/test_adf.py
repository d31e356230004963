"""Atlassian Document Format: all of its text arrives, none of it as HTML, whatever the document."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agents.forges.adf import MOST_CHARS, to_adf, to_markdown
from tests.agents.forges.adf_documents import SCHEMA, documents
from tests.sizes import scaled

CHECK = jsonschema.Draft4Validator(SCHEMA)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "content", "attrs", "marks", "text", "level", "order"]), inner)
    ),
    max_leaves=20,
)
slow_draws = settings(max_examples=scaled(50, 5), deadline=None, suppress_health_check=list(HealthCheck))


def words(text: str) -> str:
    """Text without spaces, escapes, what is invisible, and the signs that a quote or a cell puts between lines."""
    return re.sub(r"[\s\\>`\x00-\x1f\x7f\u200b\u202e]", "", text)


def texts(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("type") == "text":
            yield node["text"]
        for one in node.get("content", ()):
            yield from texts(one)


def unsafe(markdown: str) -> list[str]:
    """The HTML and the images that a renderer of any settings would make of it."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown)
    every = [one for token in tokens for one in [token, *(token.children or ())]]
    return [token.content for token in every if token.type in ("html_block", "html_inline", "image")]


@slow_draws
@given(documents())
def test_every_document_of_the_published_schema_keeps_its_text_and_is_no_html(document: dict[str, Any]) -> None:
    CHECK.validate(document)
    found = to_markdown(document)
    assert unsafe(found.text) == []
    assert {text for text in texts(document) if words(text) not in words(found.text)} == set()


@slow_draws
@given(ANY_JSON)
def test_whatever_stands_in_its_place_is_read_without_an_error_and_is_no_html(given_: Any) -> None:
    assert unsafe(to_markdown(given_).text) == []


def doc(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "doc", "version": 1, "content": list(content)}


def said(text: str, *marks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": text, "marks": list(marks)}


def block(kind: str, *content: dict[str, Any], **attrs: Any) -> dict[str, Any]:
    return {"type": kind, "attrs": attrs, "content": list(content)}


def test_a_usual_description_reads_as_people_would_write_it() -> None:
    link = {"type": "link", "attrs": {"href": "https://x.example/a b"}}
    found = to_markdown(
        doc(
            block("heading", said("What"), level=2),
            block("paragraph", said("Ask "), block("mention", id="7", text="@Jane"), said(" or "), said("read", link)),
            block(
                "orderedList",
                block(
                    "listItem",
                    block("paragraph", said("one")),
                    block("bulletList", block("listItem", block("paragraph", said("deep")))),
                ),
                block("listItem", block("paragraph", said("two"))),
                order=3,
            ),
            block(
                "taskList",
                block("taskItem", said("open"), state="TODO"),
                block("taskItem", said("ready"), state="DONE"),
            ),
            block("codeBlock", said("a = 1\n```\n"), language="python"),
            block(
                "table",
                block("tableRow", block("tableHeader", block("paragraph", said("a|b"))), block("tableHeader")),
                block("tableRow", block("tableCell", block("codeBlock", said("x"))), block("tableCell")),
            ),
            block("panel", block("paragraph", said("careful")), panelType="warning"),
            block("mediaSingle", block("media", id="1", alt="shot.png")),
            block(
                "paragraph",
                block("date", timestamp="1582152559000"),
                said(" "),
                block("emoji", shortName=":ok:", text="👍"),
            ),
            block("chart", block("paragraph", said("kept"))),
        )
    )
    assert found.text.splitlines() == [
        "### What",
        "",
        "Ask @Jane or [read](https://x.example/a%20b)",
        "",
        "3. one",
        "   - deep",
        "4. two",
        "",
        "- [ ] open",
        "- [x] ready",
        "",
        "````python",
        "a = 1",
        "```",
        "",
        "````",
        "",
        r"| a\|b |  |",
        "| --- | --- |",
        "| `x` |  |",
        "",
        "> **Warning**",
        ">",
        "> careful",
        "",
        "(attachment: shot.png)",
        "",
        "2020-02-19 👍",
        "",
        "kept",
    ]
    assert found.notes == ("chart (1): only its text is taken.",)


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//x"])
def test_a_link_that_leads_to_no_page_is_its_words_alone(address: str) -> None:
    link = {"type": "link", "attrs": {"href": address}}
    assert to_markdown(doc(block("paragraph", said("click", link)))).text == "click"


def test_what_is_too_deep_or_too_long_ends_with_a_note() -> None:
    deep = said("bottom")
    for _ in range(3_000):
        deep = block("blockquote", deep)
    long = doc(*[block("paragraph", said("word " * 100)) for _ in range(30_000)])
    assert "nested deeper" in to_markdown(doc(deep)).notes[0]
    wide = block(
        "table", block("tableRow", *[block("tableCell")] * 9_000), *[block("tableRow", block("tableCell"))] * 5_000
    )
    assert len(to_markdown(doc(wide)).text) < 4 * MOST_CHARS
    found = to_markdown(long)
    assert MOST_CHARS // 2 < len(found.text) < 2 * MOST_CHARS
    assert "is longer" in found.notes[0]
    cut = to_markdown(doc(block("codeBlock", said("<b>\n" * MOST_CHARS)), block("paragraph", said("after"))))
    assert (unsafe(cut.text), cut.text.endswith("\n```")) == ([], True)


def test_words_become_a_valid_document_without_mentions() -> None:
    made = to_adf("Built by @admin [~accountid:7]\nsee https://x.example/1\n\n/close {code}")
    CHECK.validate(made)
    kinds = {one["type"] for paragraph in made["content"] for one in paragraph["content"]}
    assert kinds == {"text", "hardBreak"}
    assert "[~accountid:7]" in json.dumps(made)
