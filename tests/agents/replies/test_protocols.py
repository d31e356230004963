"""Files in fences, in tags or in JSON: three forms of one reply, each understood whatever was asked for."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.languages.python.text import without_talk
from agents.replies.apply import apply_reply
from agents.replies.parse import parse_reply
from agents.replies.turns import without_tokens
from agents.replies.types import REPLY_FORMATS, EditBlock, FileBlock
from measure.corpora.replies.check import count, used, verdict
from measure.corpora.replies.shapes import Shape, shapes
from tests.sizes import scaled

from .test_malformed import read_every_way

SHAPES = list(shapes())
TAGGED = "A sum.\n<<WRITE: src/a.py>>\nx = 1\n\ny = 2\n<</WRITE>>\nDecision: chose a over b because c -> FR-01\n"


class TestShapes:
    def test_there_are_more_than_two_hundred_and_each_has_a_name_of_its_own(self):
        assert len(SHAPES) > 200
        assert len({(shape.protocol, shape.name) for shape in SHAPES}) == len(SHAPES)

    def test_all_are_read_and_nearly_all_as_meant(self):
        found = count(used)
        for protocol in REPLY_FORMATS:
            of = sum(number for (name, _), number in found.items() if name == protocol)
            assert found[protocol, "right"] / of > 0.98, protocol
            assert found[protocol, "wrong"] / of < 0.01, protocol

    def test_a_file_that_was_cut_off_is_never_used(self):
        for shape in SHAPES:
            if shape.cut:
                assert verdict(shape, used(shape)) == "right", shape.name

    @given(st.sampled_from(SHAPES), st.data())
    @settings(max_examples=scaled(250))
    def test_any_mutation_of_one_is_read_without_an_exception(self, shape: Shape, data: st.DataObject):
        text = shape.text
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        middle = data.draw(
            st.sampled_from(
                ["", "<<WRITE: b.py>>\n", "<</WRITE>>", "<<READ: x>>", '"', "\\", "{", "}", "```\n", '"""', "\x00"]
            )
        )
        read_every_way(text[:start] + middle + text[end:])
        for protocol in REPLY_FORMATS:
            reply = parse_reply(text[:start], truncated=True, protocol=protocol)
            assert len(reply.problems) <= 30


class TestTags:
    def test_a_tagged_reply_gives_files_and_reasons(self):
        reply = parse_reply(TAGGED)
        assert reply.protocol == "tags"
        assert reply.files == [FileBlock("src/a.py", "x = 1\n\ny = 2\n")]
        assert reply.decisions[0].choice == "a"
        assert reply.thought.startswith("A sum.")
        assert reply.problems == []

    def test_an_edit_stands_between_tags_too(self):
        edit = "<<EDIT: a.py>>\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n<</EDIT>>\n"
        assert parse_reply(edit).edits == [EditBlock("a.py", "x = 1\n", "x = 2\n")]

    def test_commands_in_a_reply_are_not_done_and_each_kind_is_named_once(self):
        reply = parse_reply('<<READ: src/b.py>>\n<<READ: src/c.py>>\n<<EXEC: rm -rf / >>\n<<CONFIRM: "May I?">>\n')
        assert reply.files == reply.edits == []
        assert [problem.partition(":")[0] for problem in reply.problems] == ["`<<READ", "`<<EXEC", "`<<CONFIRM"]
        assert "not done" in reply.problems[1]

    def test_a_tag_in_a_fenced_file_is_its_content(self):
        text = "```python path=doc.py\nHELP = '''\n<<WRITE: x.py>>\n<</WRITE>>\n'''\n```\n"
        reply = parse_reply(text)
        assert (reply.protocol, [file.path for file in reply.files]) == ("fences", ["doc.py"])

    def test_a_fence_in_a_tagged_file_is_its_content(self):
        text = "<<WRITE: README.md>>\n# A\n\n```python path=evil.py\nx = 1\n```\n\nend\n<</WRITE>>\n"
        reply = parse_reply(text)
        assert [file.path for file in reply.files] == ["README.md"]
        assert "evil.py" in reply.files[0].content

    def test_what_was_cut_off_is_not_used(self):
        reply = parse_reply("<<WRITE: a.py>>\nx = 1\n<</WRITE>>\n<<WRITE: b.py>>\ny =", truncated=True)
        assert [file.path for file in reply.files] == ["a.py"]
        assert "b.py" in reply.problems[0]

    def test_html_is_no_tag(self):
        assert parse_reply("```html path=a.html\n<file>x</file>\n<write>y</write>\n```").protocol == "fences"
        assert parse_reply("<file>\nx\n</file>\n").files == []

    def test_a_path_outside_is_refused_as_ever(self):
        applied = apply_reply(
            parse_reply("<<WRITE: ../../etc/passwd>>\nroot\n<</WRITE>>\n<<WRITE: tests/t.py>>\nx\n<</WRITE>>"),
            {},
            read_only={"tests/t.py"},
        )
        assert applied.files == {}
        assert len(applied.refused) == 2


class TestJson:
    def test_reasons_in_json_are_reasons(self):
        reply = parse_reply(
            json.dumps(
                {
                    "thought": "I see.",
                    "diagnosis": {"cause": "off by one", "evidence": "E", "hypothesis": "bound", "plan": "fix"},
                    "decisions": [{"choice": "a", "rejected": "b", "reason": "c", "requirements": ["FR-01"]}],
                    "packages": ["httpx"],
                    "verdict": "code",
                    "reason": "the test is right",
                    "files": [{"path": "a.py", "content": "x = 1"}],
                }
            )
        )
        assert reply.protocol == "json"
        assert reply.diagnosis is not None
        assert (reply.diagnosis.cause, reply.diagnosis.plan) == ("off by one", "fix")
        assert reply.decisions[0].requirements == ("FR-01",)
        assert reply.packages == ["httpx"]
        assert reply.verdict is not None
        assert reply.verdict.choice == "code"
        assert reply.files == [FileBlock("a.py", "x = 1\n")]

    def test_edits_in_json_are_edits(self):
        text = json.dumps({"edits": [{"path": "a.py", "old_str": "x = 1", "new_str": "x = 2\n"}]})
        assert parse_reply(text).edits == [EditBlock("a.py", "x = 1\n", "x = 2\n")]

    def test_a_fence_in_a_string_is_content(self):
        text = json.dumps({"files": [{"path": "README.md", "content": "```python path=evil.py\nx = 1\n```"}]})
        for form in (text, text.replace("\\n", "\n")):
            assert [file.path for file in parse_reply(form).files] == ["README.md"]

    def test_a_plan_is_no_file(self):
        plan = {"tasks": [{"key": "T-01", "title": "Add", "files": ["a.py"], "name": "Adder", "text": "words"}]}
        assert parse_reply(json.dumps(plan)).files == []

    def test_python_that_was_mended_into_nonsense_is_not_used(self):
        reply = parse_reply('{"files": [{"path": "a.py", "content": "def f(:\n  "}]', protocol="json")
        assert reply.files == []
        assert "a.py" in reply.problems[0]

    def test_json_asked_for_and_not_given_is_said(self):
        assert any("No file" in problem for problem in parse_reply('{"answer": 42}', protocol="json").problems)

    def test_a_fenced_reply_is_understood_when_json_was_asked_for(self):
        reply = parse_reply("```python path=a.py\nx = {}\n```\n", protocol="json")
        assert (reply.protocol, reply.files) == ("fences", [FileBlock("a.py", "x = {}\n")])

    @pytest.mark.parametrize("text", ['{"a":' * 5_000, "[" * 60_000, '{"path": "a.py", "content": "' + '\\"' * 100_000])
    def test_depth_and_length_are_bounded(self, text):
        assert parse_reply(text).files == []


class TestTails:
    @pytest.mark.parametrize(
        "end", ["<|im_end|>", "\n<|im_end|>\n<|endoftext|>\n", "</s>", "<|eot_id|>", "<end_of_turn>"]
    )
    def test_template_tokens_are_taken_off(self, end):
        assert without_tokens(f"<|im_start|>assistant\nhello{end}").strip() == "hello"

    def test_a_token_in_the_middle_stays(self):
        assert "<|im_end|>" in without_tokens("x = '<|im_end|>'\ny = 1\n")

    @pytest.mark.parametrize(
        "talk",
        [
            "Let me know if it works!",
            "### Notes\n- It's fast.",
            "```bash\npytest -q\n```",
            "1. Run the tests, then look.",
        ],
    )
    def test_small_talk_after_python_is_cut_off(self, talk):
        assert (without_talk(f"def f():\n    return 1\n\n{talk}\n") or "").startswith("def f():\n    return 1\n")

    @pytest.mark.parametrize(
        "code",
        [
            "def f():\n    return 1\n",
            "def f():\n    return 1\n\nThis is prose in the middle.\n\ndef g():\n    return 2\n",
            "def f():\n    return 1\n\ndef g(:\n    return 2\n",
            "Only words here, no code.\n",
            "",
        ],
    )
    def test_code_is_never_cut_off(self, code):
        assert without_talk(code) is None
