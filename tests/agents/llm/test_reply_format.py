"""A model is asked for files in the form that it was chosen for, from the first word to the last."""

from itertools import product

import pytest

from agents.engine.ask import ask
from agents.languages.registry import language
from agents.llm.chain import ModelChain
from agents.llm.ollama import OllamaProvider
from agents.llm.reply_format import in_form
from agents.llm.runner import ModelRunner
from agents.prompts.provenance import as_turn, render
from tests.agents.engine.nodes.support import MemoryEventLog, question
from tests.agents.llm.fake_servers import FakeModelServer
from tests.tables import each_row

AGAIN = render("task.refused", step="again", reasons=["a.py: no"], quoted="")


def conversation(persona: str) -> list:
    return [
        as_turn("system", render(f"system.{persona}", house_rules="", recipe="", language=language().words)),
        as_turn("user", "Persona: coder\nTask: T-01 x\nStep: code\nsay: in a fence that names its path."),
        as_turn("assistant", "…"),
        as_turn("user", AGAIN),
    ]


@pytest.mark.parametrize("persona", ["coder", "tester"])
@pytest.mark.parametrize(("form", "words"), [("tags", "<</WRITE>>"), ("json", '"files": [{"path":')])
def test_the_rules_of_a_persona_are_those_of_the_form(persona, form, words):
    system, first, _, last = (turn["content"] for turn in in_form(conversation(persona), form))
    assert words in system
    assert "in a fence" not in system
    assert "in its fence" not in system
    assert first.endswith("in a fence that names its path.")
    assert "fence" not in last
    assert "a.py: no" in last


@each_row(("persona", "form"), product(["coder", "tester", "planner", "reviewer"], ["fences", "nonsense"]))
def test_fences_are_what_the_prompts_have_already(persona, form):
    assert in_form(conversation(persona), form) == conversation(persona)


@pytest.mark.parametrize("form", ["tags", "json"])
def test_the_beginning_of_a_longer_conversation_stays_the_same(form):
    whole = conversation("coder")
    assert in_form(whole, form)[:2] == in_form(whole[:2], form)
    assert in_form(in_form(whole, form), form) == in_form(whole, form)


def test_sources_of_a_turn_are_kept():
    assert [turn["sources"] for turn in in_form(conversation("coder"), "json")] == [
        turn["sources"] for turn in conversation("coder")
    ]


def test_what_is_sent_and_recorded_has_the_form(tmp_path):
    (tmp_path / "T-01").mkdir()
    (tmp_path / "scenario.toml").write_text('name = "s"\ntitle = "s"\ndescription = "s"\nmodel = "m"\n')
    (tmp_path / "T-01" / "coder-code.md").write_text("<<WRITE: a.py>>\nx = 1\n<</WRITE>>\n")
    event_log, server = MemoryEventLog(), FakeModelServer(tmp_path, tokens_per_s=0)
    with server as url, ModelRunner() as runner:
        chain = ModelChain((OllamaProvider(url, "m"),), (False,), 0.2, protocol="tags")
        ask(question(event_log, runner, chain, conversation("coder")[:2]))
    assert "<</WRITE>>" in server.requests[0].body["messages"][0]["content"]
    thought = next(event for event in event_log.events if event["type"] == "thought")
    assert "<</WRITE>>" in thought["blobs"]["prompt"][0]
