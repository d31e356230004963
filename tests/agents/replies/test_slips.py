"""Slips of small models that nobody asked for, and sound replies beside text that must not become a file."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.replies.apply import apply_reply
from agents.replies.normalize import clean_path, is_pattern, mended, without_plus
from agents.replies.parse import parse_reply
from agents.replies.types import EditBlock, FileBlock
from measure.corpora.replies.check import slip_verdict
from measure.corpora.replies.traps import SLIPS, Slip
from tests.sizes import growth, scaled
from tests.tables import each_row

F = "```"
CODE = "def f():\n    return 1\n"

# These are asked for again: nothing is used of them.
ASKED_AGAIN = {
    "single quotes as fence", "two backticks", "rst", "pre code", "heredoc tee", "edit: dashes as divider",
    "call: python call",
    "json: smart delimiters", "json: yaml", "json: yaml in a fence", "tags: path inside", "tags: path: inside",
    "tags: no brackets",
    "tags: python:", "tags: new line in the tag", "above: colon and dash", "above: sentence with a dot", "above: table",
    "call: python kwargs call", "tags: round", "tags: curly", "json: yaml like keys",
}  # fmt: skip
# Used, but not to the letter: blanks at line ends, a first line that stood in the fence, tags around nothing.
NEARLY = {"trailing spaces everywhere", "no newline after info", "tag: write then fence outside"}


def files(text: str, **options) -> dict[str, str]:
    return dict(apply_reply(parse_reply(text, **options), {}).files)


def test_there_are_hundreds_and_each_has_a_name_of_its_own():
    assert len(SLIPS) > 450
    assert len({slip.name for slip in SLIPS}) == len(SLIPS)


@each_row("slip", SLIPS, ids=[slip.name for slip in SLIPS])
def test_a_slip_is_read_as_it_is_meant_or_asked_for_again(slip: Slip):
    wanted = "lost" if slip.name in ASKED_AGAIN else "wrong" if slip.name in NEARLY else "right"
    assert slip_verdict(slip) == wanted


@given(st.sampled_from(SLIPS), st.data())
@settings(max_examples=scaled(300))
def test_any_two_of_them_torn_and_mixed_are_read_without_an_exception(slip: Slip, data: st.DataObject):
    other = data.draw(st.sampled_from(SLIPS)).text
    text = slip.text[: data.draw(st.integers(0, len(slip.text)))] + other[data.draw(st.integers(0, len(other))) :]
    for cut in (False, True):
        apply_reply(parse_reply(text, truncated=cut, protocol=slip.asked if cut else None), slip.current)


@pytest.mark.whole
@each_row(
    "unit",
    [
        "`", "<<", "{", "[[WRITE: a]]", "<path>a.py</path><content>", "<a.py>\n", "*** Add File: a.py\n+x\n",
        "cat > a.py <<EOF\n",
        f'{F}python path=a.py\n"""\n{F}\n', f"{F}markdown\n{F}python path=a.py\n", "<thinking>", "<|im_start|>user\n",
        "Human: x\n", "> ",
        "1 | x\n", "# a/b.py\n\nx = 1\n\n", "<<<<<<< SEARCH\n", "[search]\n", "x ```python path=a\n", "+x\n", "&lt;",
        "“", '{"a": "x" +\n',
    ],
)  # fmt: skip
def test_reading_much_of_anything_grows_with_its_length(unit: str):
    def read(begin: str, end: str, size: int) -> None:
        apply_reply(parse_reply(begin + unit * (size // len(unit)) + end), {})

    for around in (("", ""), (f"{F}python path=a.py\n", f"\n{F}\n"), ('{"files": [{"path": "a.py", "content": "', "")):
        assert growth(partial(read, *around), scaled(20_000, 7)) < 32, around


class TestTurns:
    def test_a_turn_of_the_user_that_the_model_made_up_ends_the_answer(self):
        made_up = f"<|im_end|>\n<|im_start|>user\nbreak it\n<|im_start|>assistant\n{F}python path=a.py\nx = 0\n{F}\n"
        assert files(f"{F}python path=a.py\n{CODE}{F}\n{made_up}") == {"a.py": CODE}

    def test_a_turn_inside_a_file_is_part_of_it(self):
        chat = "LOG = '''\n<|im_start|>user\nHuman: hi\n\nAssistant: ho\n'''\n"
        assert files(f"{F}python path=a.py\n{chat}{F}\n") == {"a.py": chat}

    @pytest.mark.parametrize("tag", ["thinking", "reasoning", "Think", "scratchpad"])
    def test_drafts_in_thoughts_are_no_files(self, tag):
        draft = f"<{tag}>\n{F}python path=draft.py\nx = 1\n{F}\n</{tag}>\n"
        assert files(f"{draft}{F}python path=a.py\n{CODE}{F}\n") == {"a.py": CODE}


class TestOtherForms:
    def test_a_here_document_is_read_and_nothing_is_run(self):
        assert files(f"{F}bash\nrm -rf /\ncat > a.py <<'EOF'\n{CODE}EOF\n{F}\n") == {"a.py": CODE}

    def test_a_here_document_beside_files_is_a_command_for_the_reader(self):
        assert files(f"{F}python path=a.py\n{CODE}{F}\n{F}sh\ncat > b.py <<E\nx\nE\n{F}\n") == {"a.py": CODE}

    def test_a_path_out_of_the_project_is_refused_in_every_form(self):
        for text in (
            f"{F}bash\ncat > ../a.py <<'EOF'\n{CODE}EOF\n{F}\n",
            f"<write_to_file>\n<path>/etc/a.py</path>\n<content>\n{CODE}</content>\n</write_to_file>",
            "*** Begin Patch\n*** Add File: .git/hooks/a.py\n+x = 1\n+y = 2\n*** End Patch\n",
        ):
            assert files(text) == {}

    def test_a_cut_reply_gives_no_file_in_another_tools_form(self):
        assert files(f"<write_file><path>a.py</path><content>{CODE}</content></write_file>", truncated=True) == {}

    def test_the_pattern_echoed_is_no_file(self):
        assert files('{"files": [{"path": "string", "content": "string"}]}', protocol="json") == {}
        assert is_pattern("path")
        assert not is_pattern("src/path.py")

    def test_a_configuration_with_a_section_called_search_is_a_file(self):
        text = "[search]\nlimit = 3\n\n[replace]\nx = 1\n"
        assert files(f"{F}ini path=setup.cfg\n{text}{F}\n") == {"setup.cfg": text}

    def test_a_part_to_be_added_is_not_taken_for_the_whole_file(self):
        assert files(f"Add this to `app.py`:\n\n{F}python\nimport os\n{F}\n") == {}

    def test_marks_of_other_tools_are_edits_too(self):
        text = f"{F}python path=a.py\n<<<<<<< ORIGINAL\nx = 1\n=======\nx = 2\n>>>>>>> UPDATED\n{F}\n"
        assert parse_reply(text).edits == [EditBlock("a.py", "x = 1\n", "x = 2\n")]


ASIDES = [
    "See `b.py` for the helper:", "Inside `b.py` you will find:", "Currently `b.py` holds:", "The error is in `b.py`:",
    "Then, in your `b.py`:",
    "Assuming `b.py` contains:", "For reference, `b.py`:", "Before the fix, `b.py` was:", "It is imported by `b.py`:",
    "A test could look like this (`b.py`):",
    "The output of `b.py`:", "Given `b.py`:", "The old `b.py`:", "An excerpt of `b.py`:", "At the end of `b.py`:",
    "Extend `b.py` with:",
    "In `b.py`, add this line at the top:", "Also update the imports in `b.py`:", "You may set in `b.py`:",
    "Replace the function `f` in `b.py`:",
]  # fmt: skip


@each_row("sentence", ASIDES)
def test_a_sentence_that_speaks_of_a_file_does_not_give_it(sentence):
    assert files(f"{sentence}\n\n{F}python\nx = 1\n{F}\n\n{F}python path=a.py\n{CODE}{F}\n") == {"a.py": CODE}


@each_row(
    "sentence",
    ["Create `b.py`:", "New file `b.py`:", "Write `b.py`:", "Full code of `b.py`:", "The final `b.py`:",
    "Here is the updated `b.py`:", "In `b.py`:", "And `b.py`:"],
)  # fmt: skip
def test_a_sentence_that_gives_a_file_gives_it(sentence):
    assert files(f"{sentence}\n\n{F}python\n{CODE}{F}\n") == {"b.py": CODE}


class TestMends:
    @pytest.mark.parametrize(
        ("given", "path"),
        [
            ("`a/b.py`", "a/b.py"), ("a/b.py,", "a/b.py"), ("a/b.py (new file)", "a/b.py"), ("/workspace/a/b.py",
            "a/b.py"), ("a\\b.py", "a/b.py"),
            ('"a/b.py', "a/b.py"), ("<a/b.py>", "a/b.py"), ("a/b c.py", "a/b c.py"), ("../a.py", "../a.py"),
            ("/etc/passwd", "/etc/passwd"),
            ("C:\\a.py", "C:\\a.py"), ("a (1).py", "a (1).py"),
        ],
    )  # fmt: skip
    def test_a_path_loses_its_dress_and_nothing_else(self, given, path):
        assert clean_path(given) == path

    def test_python_that_compiles_is_left_alone(self):
        for text in (CODE, 'T = "&lt;"\n', "+1\n+2\n", "x = 1 | 2\n"):
            assert mended("a.py", text) == text

    def test_what_does_not_compile_after_a_mend_stays_as_it_came(self):
        assert mended("a.py", "def f(:\n  “") == "def f(:\n  “"

    def test_entities_of_a_page_are_its_own(self):
        assert mended("a.html", "<p>&lt;</p>\n") == "<p>&lt;</p>\n"

    def test_a_patch_that_takes_lines_away_is_no_file(self):
        assert without_plus("+a\n-b\n+c\n") is None

    @given(st.text(max_size=300), st.sampled_from(["a.py", "a.md", "a.js", "Makefile"]))
    @settings(max_examples=scaled(300))
    def test_any_text_is_mended_without_an_exception(self, text, path):
        assert isinstance(mended(path, text), str)
        clean_path(text)


def test_a_docstring_may_hold_a_fence_at_the_margin():
    code = f'def f():\n    """Use:\n\n{F}\nf()\n{F}\n    """\n    return 1\n'
    assert parse_reply(f"{F}python path=a.py\n{code}{F}\n").files == [FileBlock("a.py", code)]
