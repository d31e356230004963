"""Reading replies the way models write them."""

from itertools import product

import pytest

from agents.replies.parse import parse_reply
from agents.replies.types import Decision, EditBlock, FileBlock, Verdict
from tests.tables import each_row

F = "```"
CODE = "def total(items):\n    return sum(items)\n"


@each_row(
    "text",
    [
        f"{F}python path=src/a.py\n{CODE}{F}",
        f'{F}python path="src/a.py"\n{CODE}{F}',
        f"{F}python file=src/a.py\n{CODE}{F}",
        f'{F}python title="src/a.py"\n{CODE}{F}',
        f"{F}python filename='src/a.py' hl=3\n{CODE}{F}",
        f"{F}{{.python path=src/a.py}}\n{CODE}{F}",
        f"{F}src/a.py\n{CODE}{F}",
        f"{F}python:src/a.py\n{CODE}{F}",
        f"{F}python src/a.py\n{CODE}{F}",
        f"{F} python  path=src/a.py  \n{CODE}{F}  ",
        f"**src/a.py**\n{F}python\n{CODE}{F}",
        f"**`src/a.py`**\n\n{F}python\n{CODE}{F}",
        f"### File: src/a.py\n{F}python\n{CODE}{F}",
        f"### `src/a.py` (new file)\n\n{F}python\n{CODE}{F}",
        f"`src/a.py`:\n{F}python\n{CODE}{F}",
        f"1. `src/a.py`:\n{F}python\n{CODE}{F}",
        f"File: src/a.py\n{F}\n{CODE}{F}",
        f"src/a.py\n{F}\n{CODE}{F}",
        f"Here is the new `src/a.py`:\n{F}python\n{CODE}{F}",
        f"{F}python\n# path: src/a.py\n{CODE}{F}",
        f"{F}\n# file: src/a.py\n{CODE}{F}",
        f"{F}python path=src/a.py\n# path: src/a.py\n{CODE}{F}",
        f"~~~python path=src/a.py\n{CODE}~~~",
        f"{F}``python path=src/a.py\n{CODE}{F}``",
        f"{F}python path=src/a.py\n{CODE}{F}".replace("\n", "\r\n"),
        f"- the file:\n  {F}python path=src/a.py\n" + "".join(f"  {row}\n" for row in CODE.splitlines()) + f"  {F}",
        f"Sure!\n\n{F}python path=src/a.py\n{CODE}\n\n{F}\nThat is all.",
        f"{F}python path=src/a.py\n{CODE}",
        f"<think>\nA draft:\n{F}python path=src/b.py\nno\n{F}\n</think>\n{F}python path=src/a.py\n{CODE}{F}",
        f"Hm:\n{F}python path=src/b.py\nno\n{F}\n</think>\n{F}python path=src/a.py\n{CODE}{F}",
    ],
)
def test_a_file_is_found_however_its_path_is_given(text):
    assert parse_reply(text).files == [FileBlock("src/a.py", CODE)]


def test_comment_marks_of_other_languages_name_a_file():
    reply = parse_reply(f"{F}js\n// file: static/a.js\nlet x = 1;\n{F}\n{F}html\n<!-- path: t/a.html -->\n<p>\n{F}")
    assert reply.files == [FileBlock("static/a.js", "let x = 1;\n"), FileBlock("t/a.html", "<p>\n")]


def test_a_plain_comment_with_a_path_stays_in_the_file():
    assert parse_reply(f"{F}python\n# src/a.py\nx = 1\n{F}").files == [FileBlock("src/a.py", "# src/a.py\nx = 1\n")]


@each_row(
    "text",
    [
        f"Run the tests:\n{F}bash\npytest tests/test_a.py\n{F}",
        f"`tests/test_a.py`:\n{F}text\n1 failed\n{F}",
        f"{F}python\nprint('an example')\n{F}",
        f"We use `src/a.py` and `src/b.py`:\n{F}python\nx = 1\n{F}",
        f"{F}Dockerfile\nFROM scratch\n{F}",
    ],
)
def test_a_block_that_is_no_file_is_left_alone(text):
    assert parse_reply(text).files == []


def test_code_without_a_path_says_how_to_give_one():
    (problem,) = parse_reply(f"{F}python\nx = 1\n{F}").problems
    assert "path=" in problem


def test_an_example_beside_real_files_is_no_problem():
    reply = parse_reply(f"{F}python\nx = 1\n{F}\n{F}python path=a.py\nx = 2\n{F}")
    assert reply.problems == []
    assert reply.files == [FileBlock("a.py", "x = 2\n")]


@each_row(
    ("body", "mark"),
    product(
        [
            f"# Title\n\n{F}python\nx = 1\n{F}\n\nMore.\n",
            f"# Title\n\n{F}\nls\n{F}\n\nMore.\n",
            f"{F}sh\nls\n{F}\n{F}python path=b.py\nx\n{F}\n",
        ],
        [F, F + "`", "~~~"],
    ),
)
def test_a_markdown_file_keeps_its_inner_fences(body, mark):
    reply = parse_reply(f"{mark}markdown path=README.md\n{body}{mark}\nDone.\n{F}python path=a.py\nx = 1\n{F}")
    assert reply.files == [FileBlock("README.md", body), FileBlock("a.py", "x = 1\n")]


def test_a_docstring_with_an_indented_fence_does_not_end_the_file():
    body = f'def f():\n    """Use:\n\n    {F}\n    f()\n    {F}\n    """\n'
    assert parse_reply(f"{F}python path=a.py\n{body}{F}").files == [FileBlock("a.py", body)]


def test_a_cut_block_is_noted_and_not_used_when_the_reply_was_cut():
    text = f"{F}python path=a.py\nx = 1\n{F}\n{F}python path=b.py\ndef half("
    reply = parse_reply(text, truncated=True)
    assert reply.files == [FileBlock("a.py", "x = 1\n")]
    assert "b.py" in reply.problems[0]
    assert "cut off" in reply.problems[0]


def test_a_forgotten_last_fence_is_noted_and_forgiven():
    reply = parse_reply(f"{F}python path=a.py\nx = 1\n")
    assert reply.files == [FileBlock("a.py", "x = 1\n")]
    assert "no end" in reply.problems[0]


def test_of_a_file_given_twice_the_last_counts():
    reply = parse_reply(f"{F}python path=a.py\nx = 1\n{F}\nBetter:\n{F}python path=a.py\nx = 2\n{F}")
    assert reply.files == [FileBlock("a.py", "x = 2\n")]
    assert "more than once" in reply.problems[0]


def test_an_empty_file_may_be_written():
    assert parse_reply(f"{F}python path=src/__init__.py\n{F}").files == [FileBlock("src/__init__.py", "")]


EDIT = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"


@each_row(
    "text",
    [
        f"{F}python path=a.py\n{EDIT}{F}",
        f"a.py\n{F}python\n{EDIT}{F}",
        f"**a.py**\n{EDIT}",
        f"{F}\n# path: a.py\n{EDIT}{F}",
        f"{F}python path=a.py\n{EDIT}{F}".replace("\n", "\r\n"),
    ],
)
def test_an_edit_is_found(text):
    reply = parse_reply(text)
    assert reply.edits == [EditBlock("a.py", "x = 1\n", "x = 2\n")]
    assert reply.files == []
    assert reply.problems == []


def test_several_edits_stand_in_one_block():
    assert len(parse_reply(f"{F}python path=a.py\n{EDIT}\n{EDIT}{F}").edits) == 2


def test_an_edit_of_a_markdown_file_may_hold_fences():
    edit = f"<<<<<<< SEARCH\n{F}sh\nls\n{F}\n=======\n{F}sh\nls -l\n{F}\n>>>>>>> REPLACE\n"
    reply = parse_reply(f"{F}markdown path=README.md\n{edit}{F}\nDone.")
    assert reply.edits == [EditBlock("README.md", f"{F}sh\nls\n{F}\n", f"{F}sh\nls -l\n{F}\n")]


@pytest.mark.parametrize("missing", ["<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n"])
def test_half_an_edit_is_refused_whole(missing):
    reply = parse_reply(f"{F}python path=a.py\n{EDIT}{EDIT.replace(missing, '')}{F}")
    assert reply.edits == []
    assert reply.files == []
    assert "is incomplete" in reply.problems[0]


@each_row(
    "text",
    [
        "## Diagnosis\nCause: the sum starts at one\nEvidence: got 7, want 6\nHypothesis: start at "
        "0\nPlan: change it\n",
        "**Diagnosis**\n- **Cause:** the sum starts at one\n- **Evidence**: got 7, want 6\n"
        "- *Hypothesis*: start at 0\n- Plan: change it\n",
        "Diagnosis:\n1. Cause: the sum starts at one\n2. Evidence: got 7, want 6\n3. Hypothesis: start at "
        "0\n4. Plan: change it",
        "### Diagnosis\n\n#### Cause\nthe sum\nstarts at one\n\n#### Evidence\ngot 7, want 6\n"
        "#### Hypothesis\nstart at 0\n#### Plan\nchange it\n",
        "Cause: the sum starts at one\nEvidence: got 7, want 6\nHypothesis: start at 0\nPlan: change it",
    ],
)
def test_a_diagnosis_is_found(text):
    reply = parse_reply(text + f"\n## Code\n{F}python path=a.py\nx = 1\n{F}\nAll is well.")
    assert reply.diagnosis is not None
    assert vars(reply.diagnosis) == {
        "cause": "the sum starts at one",
        "evidence": "got 7, want 6",
        "hypothesis": "start at 0",
        "plan": "change it",
    }
    assert reply.problems == []


def test_a_diagnosis_without_a_hypothesis_says_so():
    reply = parse_reply("## Diagnosis\nCause: x\nEvidence: y\nPlan: z\n")
    assert reply.diagnosis is not None
    assert reply.diagnosis.hypothesis == ""
    assert reply.problems == ["The diagnosis has no line `Hypothesis:`."]


@pytest.mark.parametrize(
    ("plan", "read"),
    [
        ("Plan: keep the rest\n\nHere it is:\n", "keep the rest"),
        ("Plan:\n\n- first\n- then\n\nBelow is the file.\n", "- first - then"),
        ("Plan: first\nand then\n\n  more of it\n\nNow the code.\n\nIt is short.\n", "first and then more of it"),
    ],
)
def test_words_that_announce_the_files_are_no_part_of_the_plan(plan, read):
    head = "## Diagnosis\n\nCause: a rate is a float.\n\nEvidence: TypeError\n\nHypothesis: Decimal helps.\n\n"
    found = parse_reply(head + plan + "\n```python path=a.py\nx = 1\n```\n").diagnosis
    assert (found.cause, found.plan) == ("a rate is a float.", read)


def test_there_is_no_diagnosis_where_none_is_written():
    assert parse_reply("I changed the loop.").diagnosis is None


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        (
            "Decision: chose argon2 over bcrypt because it is memory-hard -> FR-01, NFR-06",
            Decision("argon2", "bcrypt", "it is memory-hard", ("FR-01", "NFR-06")),
        ),
        (
            "- **Decision:** chose a dict over a list because lookups → FR-2",
            Decision("a dict", "a list", "lookups", ("FR-2",)),
        ),
        ("Decision: use SQLite because it is there", Decision("SQLite", "", "it is there")),
        ("Decision: Chose X Over Y Because Z => SWE-US-03.", Decision("X", "Y", "Z", ("SWE-US-03",))),
    ],
)
def test_a_decision_is_found(line, decision):
    assert parse_reply(f"Text.\n{line}\nMore text.").decisions == [decision]


def test_a_decision_without_a_reason_is_a_problem():
    reply = parse_reply("Decision: chose X over Y")
    assert reply.decisions == []
    assert "because" in reply.problems[0]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Packages: httpx, argon2-cffi>=23", ["httpx", "argon2-cffi"]),
        ("**Packages:** `fastapi[all]`, `httpx`", ["fastapi", "httpx"]),
        ("Packages: none", []),
        ("Packages: httpx and pydantic.", ["httpx", "pydantic"]),
    ],
)
def test_packages_are_found(line, names):
    reply = parse_reply(line)
    assert reply.packages == names
    assert reply.problems == []


def test_what_is_no_package_name_is_a_problem():
    reply = parse_reply("Packages: --index-url=http://x, ../evil, good")
    assert reply.packages == ["good"]
    assert len(reply.problems) == 2


@each_row(
    ("text", "verdict"),
    [
        ("Verdict: test - FR-01 wants 6", Verdict("test", "FR-01 wants 6")),
        ("**Verdict:** code\nReason: it adds one", Verdict("code", "it adds one")),
        ("## Verdict\napprove\n\nAll criteria are met.", Verdict("approve", "")),
        ("Verdict: **Approved**. All is met.", Verdict("approve", "All is met.")),
        ("Verdict: neither - FR-01 says so", Verdict("neither", "FR-01 says so")),
        ("Verdict: tests stand", Verdict("neither", "")),
        ("Verdict: The test is right, FR-01 says so", Verdict("neither", "FR-01 says so")),
        (
            "Verdict: rejected\n\nNo test covers FR-02\nor FR-03.\n\nOther words.",
            Verdict("reject", "No test covers FR-02 or FR-03."),
        ),
    ],
)
def test_a_verdict_is_found(text, verdict):
    found = parse_reply(text).verdict
    assert found is not None
    assert found.choice == verdict.choice
    assert verdict.reason in found.reason


@pytest.mark.parametrize("text", ["Verdict: maybe", "Verdict:", "Verdict: approve\nVerdict: reject", "I approve."])
def test_an_unclear_verdict_is_none(text):
    assert parse_reply(text).verdict is None


def test_a_verdict_inside_a_file_is_not_the_models():
    assert parse_reply(f"{F}markdown path=notes.md\nVerdict: approve\n{F}").verdict is None


def test_the_thought_is_the_prose_without_the_files():
    reply = parse_reply(f"<think>hm</think>\nFirst I add.\n{F}python path=a.py\nsecret = 1\n{F}\nThen I test.")
    assert reply.thought == "hm\nFirst I add.\nThen I test."
