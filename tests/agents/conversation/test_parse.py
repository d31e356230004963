"""Commands are understood as the prompt shows them and as small models write them; nothing else becomes one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.conversation.parse import prose_of, read_commands
from tests.sizes import scaled
from tests.tables import each_row

HELLO = 'print("Hello, World!")\n'


def told(text: str, **more: bool) -> list[tuple[str, str, str]]:
    return [(one.tool, one.argument, one.body) for one in read_commands(text, **more).commands]


@each_row(
    ("text", "expected"),
    [
        ("<<READ: src/app.py>>", ("read", "src/app.py")),
        ("Let me look: <<READ: src/app.py>>.", ("read", "src/app.py")),
        ("<<read:src/app.py>>", ("read", "src/app.py")),
        ("<< READ : src/app.py >>", ("read", "src/app.py")),
        ("<<READ src/app.py>>", ("read", "src/app.py")),
        ('<<READ: "src/app.py">>', ("read", "src/app.py")),
        ("<<READ: `src/app.py`>>", ("read", "src/app.py")),
        ("`<<READ: src/app.py>>`", ("read", "src/app.py")),
        ("**<<READ: src/app.py>>**", ("read", "src/app.py")),
        ("<<<READ: src/app.py>>>", ("read", "src/app.py")),
        ("<READ: src/app.py>", ("read", "src/app.py")),
        ("<READ: src/app.py>>", ("read", "src/app.py")),
        ("<<READ: src/app.py>", ("read", "src/app.py")),
        ("<<READ: src/app.py", ("read", "src/app.py")),
        ("«READ: src/app.py»", ("read", "src/app.py")),
        ("<<READ: path=src/app.py>>", ("read", "src/app.py")),
        ("<<OPEN: src/app.py>>", ("read", "src/app.py")),
        ("```\n<<READ: src/app.py>>\n```", ("read", "src/app.py")),
        ("<<EXEC: python hello.py>>", ("exec", "python hello.py")),
        ("<<EXEC: `python hello.py`>>", ("exec", "python hello.py")),
        ("<<RUN: python hello.py>>", ("exec", "python hello.py")),
        ("<<EXEC: echo hi >> log.txt>>", ("exec", "echo hi >> log.txt")),
        ("<<EXEC: python a.py > out.txt>>", ("exec", "python a.py > out.txt")),
        ("<<EXEC: python a.py>> and then we see", ("exec", "python a.py")),
        ('<<EXEC: python -c "print(1)">>', ("exec", 'python -c "print(1)"')),
        ("<<EXEC:\npython hello.py\n>>", ("exec", "python hello.py")),
        ("<<EXEC>>\npython hello.py\n<</EXEC>>", ("exec", "python hello.py")),
        ('<<EXEC: python -c "a = 1\nprint(a)">>\n\nThen.', ("exec", 'python -c "a = 1\nprint(a)"')),
        ("<<EXEC: python - <<'END'\nprint(1)\nEND\n>>", ("exec", "python - <<'END'\nprint(1)\nEND")),
        ("<<EXEC: python a.py\nThat's all >>", ("exec", "python a.py")),
        ("<<EXEC>>\n```bash\npython hello.py\n```\n<</EXEC>>", ("exec", "python hello.py")),
        ("<<EXEC: python hello.py>><</EXEC>>", ("exec", "python hello.py")),
        ("<<EXEC: cat > a.txt << 'EOF'\nx >> 1\nEOF\nls>>", ("exec", "cat > a.txt << 'EOF'\nx >> 1\nEOF\nls")),
        ("<<EXEC: cat >> a.txt <<EOF\nx\nEOF>>", ("exec", "cat >> a.txt <<EOF\nx\nEOF")),
        ("<<EXEC: cat > a.txt <<EOF\nx\nEOF\n\nThen we see.", ("exec", "cat > a.txt <<EOF\nx\nEOF")),
        ('<<EXEC: python -c "\nprint(1)\n">>', ("exec", 'python -c "\nprint(1)\n"')),
        ("<<EXEC: cd app && \\\npytest -q>>\nSo.", ("exec", "cd app && \\\npytest -q")),
        ("<<EXEC: git status\nIt's clean.", ("exec", "git status")),
        ('<<SEARCH: "latest flask version">>', ("search", "latest flask version")),
        ("<<SEARCH: latest flask version>>", ("search", "latest flask version")),
        ('<<CONFIRM: "Delete main.py? [y/n]">>', ("confirm", "Delete main.py? [y/n]")),
        ("<<DELETE: old.txt>>", ("delete", "old.txt")),
        ("<<FIND: *.txt>>", ("find", "*.txt")),
        ("<<FIND>>", ("find", "")),
    ],
)
def test_one_command_is_understood(text: str, expected: tuple[str, str]) -> None:
    assert told(text) == [(*expected, "")]


WRITES = {
    "as documented": f"<<WRITE: hello.py>>\n{HELLO}<</WRITE>>",
    "in a sentence": f"I write it now. <<WRITE: hello.py>>\n{HELLO}<</WRITE>> Done.",
    "end names the file": f"<<WRITE: hello.py>>\n{HELLO}<</WRITE: hello.py>>",
    "end without brackets' twins": f"<<WRITE: hello.py>>\n{HELLO}</WRITE>",
    "end in words": f"<<WRITE: hello.py>>\n{HELLO}<<END WRITE>>",
    "end with a blank": f"<<WRITE: hello.py>>\n{HELLO}<< /WRITE >>",
    "end with a backslash": f"<<WRITE: hello.py>>\n{HELLO}<<\\WRITE>>",
    "end without a name": f"<<WRITE: hello.py>>\n{HELLO}<</>>",
    "fenced": f"<<WRITE: hello.py>>\n```python\n{HELLO}```\n<</WRITE>>",
    "fenced, unclosed": f"<<WRITE: hello.py>>\n```python\n{HELLO}```\nNow it prints the greeting.",
    "unclosed": f"<<WRITE: hello.py>>\n{HELLO}",
    "unclosed, prose below": f"<<WRITE: hello.py>>\n{HELLO}\nThis script prints a greeting when you run it.",
    "all in a fence": f"```\n<<WRITE: hello.py>>\n{HELLO}<</WRITE>>\n```",
    "in one line": '<<WRITE: hello.py>>print("Hello, World!")<</WRITE>>',
    "lower case": f"<<write: hello.py>>\n{HELLO}<</write>>",
    "quoted": f'<<WRITE: "hello.py">>\n{HELLO}<</WRITE>>',
    "one bracket": f"<WRITE: hello.py>\n{HELLO}</WRITE>",
    "header not closed": f"<<WRITE: hello.py\n{HELLO}<</WRITE>>",
    "another word": f"<<CREATE: hello.py>>\n{HELLO}<</CREATE>>",
    "windows line ends": f"<<WRITE: hello.py>>\r\n{HELLO}<</WRITE>>",
}


@each_row("text", WRITES.values(), ids=WRITES.keys())
def test_a_file_is_written_whole_and_without_what_stands_around_it(text: str) -> None:
    assert told(text) == [("write", "hello.py", HELLO)]


def test_several_commands_come_in_their_order_two_in_one_line_too() -> None:
    text = f"<<READ: a.txt>> and <<READ: b.txt>>\n<<WRITE: hello.py>>\n{HELLO}<</WRITE>>\n<<EXEC: python hello.py>>"
    assert [one[:2] for one in told(text)] == [
        ("read", "a.txt"),
        ("read", "b.txt"),
        ("write", "hello.py"),
        ("exec", "python hello.py"),
    ]


def test_a_command_of_several_lines_ends_where_the_next_one_begins() -> None:
    text = "```bash\n<<EXEC: cat > a.txt << 'EOF'\nx\nEOF\ncat a.txt>> <<EXEC: ls>>\n```\n**Output:**\n```\nx\n```"
    assert [one[:2] for one in told(text)] == [("exec", "cat > a.txt << 'EOF'\nx\nEOF\ncat a.txt"), ("exec", "ls")]
    assert [one.title for one in read_commands(text).commands] == ["exec cat > a.txt << 'EOF' …", "exec ls"]
    assert read_commands(text).invented


def test_a_write_without_its_end_stops_at_the_next_command() -> None:
    text = f"<<WRITE: a.py>>\nx = 1\n\nNow I run it.\n<<EXEC: python a.py>>\n<<WRITE: hello.py>>\n{HELLO}<</WRITE>>"
    assert told(text) == [("write", "a.py", "x = 1\n"), ("exec", "python a.py", ""), ("write", "hello.py", HELLO)]


def test_a_write_without_its_end_stops_before_a_fence_around_the_next_command() -> None:
    text = f"<<WRITE: hello.py>>\n{HELLO}\nNow run it:\n\n```bash\n<<EXEC: python hello.py>>\n```\n\nResult:\nHello"
    assert told(text) == [("write", "hello.py", HELLO), ("exec", "python hello.py", "")]
    assert read_commands(text).spelt == f"<<WRITE: hello.py>>\n{HELLO}<</WRITE>>\n<<EXEC: python hello.py>>"
    assert prose_of(text) == ""


def test_what_a_file_says_about_commands_is_no_command() -> None:
    page = "Use it so:\n\n<<EXEC: rm -rf />>\n\nand <<READ: x>>.\n"
    assert told(f"<<WRITE: guide.md>>\n{page}<</WRITE>>") == [("write", "guide.md", page)]


def test_a_page_may_hold_fences() -> None:
    page = "# Title\n\n```python\nprint(1)\n```\n\nEnd.\n"
    assert told(f"<<WRITE: README.md>>\n{page}<</WRITE>>") == [("write", "README.md", page)]
    assert told(f"<<WRITE: README.md>>\n```markdown\n{page}```\n<</WRITE>>") == [("write", "README.md", page)]


@pytest.mark.parametrize("indent", ["    ", ""])
def test_code_may_hold_fences_too(indent: str) -> None:
    code = f'def f():\n    """One.\n\n{indent}```pycon\n{indent}>>> f()\n{indent}```\n    """\n    return 1\n'
    for end in ("", "\n<</WRITE>>"):
        assert told(f"<<WRITE: f.py>>\n```python\n{code}```{end}\n<<READ: f.py>>") == [
            ("write", "f.py", code),
            ("read", "f.py", ""),
        ]


def test_a_reply_that_was_cut_off_writes_no_half_file() -> None:
    (command,) = read_commands(f"<<WRITE: a.py>>\n{HELLO}x = [", truncated=True).commands
    assert "cut off" in command.problem
    assert command.body == ""


def test_an_edit_holds_its_blocks_closed_or_not() -> None:
    block = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"
    assert told(f"<<EDIT: a.py>>\n{block}<</EDIT>>") == [("edit", "a.py", block)]
    assert told(f"<<EDIT: a.py>>\n{block}Now x is two.") == [("edit", "a.py", block)]
    half = f"{block}<<<<<<< SEARCH\ny = 1\n=======\ny = 2\n"
    assert told(f"<<EDIT: a.py>>\n{half}") == [("edit", "a.py", half)], "half an edit is not left out in silence"


@each_row(
    "text",
    [
        "x = 1 << 2 >> 3",
        "cat <<EOF\nhello\nEOF",
        "std::cout << read << std::endl;",
        "You may use <<READ: path>> or <<READ: path/to/file.py>> for that.",
        "a <read> tag and </write>",
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
        "I would run it, but I cannot.",
        "",
    ],
)
def test_what_is_no_command_stays_text(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    "text", ["<<READ: >>", "<<WRITE: >>\nx\n<</WRITE>>", "<<WRITE: a.py>>\n<</WRITE>>", "<<EXEC: >>"]
)
def test_a_command_that_says_too_little_is_told_its_form(text: str) -> None:
    (command,) = read_commands(text).commands
    if command.tool == "write" and command.argument:
        assert command.body == ""
    else:
        assert "<<" in command.problem


def test_people_see_a_written_file_as_code() -> None:
    shown = read_commands(f"I write it.\n<<WRITE: hello.py>>\n{HELLO}<</WRITE>>\nDone.").shown
    assert shown == f"I write it.\n\n**write** `hello.py`\n\n```python\n{HELLO}```\n\nDone."


def test_commands_on_lines_of_their_own_are_paragraphs_and_one_in_a_sentence_is_not() -> None:
    found = read_commands(f"First:\n<<READ: a.txt>>\n<<EXEC: ls>> <<WRITE: hello.py>>\n{HELLO}<</WRITE>>\nDone.")
    assert found.outline == "First:\n\n**read** `a.txt`\n\n**exec** `ls`\n\n**write** `hello.py`\n\nDone."
    found = read_commands("<<EXEC: cat > a.txt << EOF\nx\nEOF\n>>")
    assert found.outline == "**exec** `cat > a.txt << EOF` …"
    assert found.shown == "**exec** `cat > a.txt << EOF` …\n\n```\ncat > a.txt << EOF\nx\nEOF\n```"
    assert read_commands("I look at <<READ: a.txt>>, then go on.").outline == "I look at **read** `a.txt`, then go on."


def test_the_model_is_shown_its_own_words_with_the_commands_as_they_are_documented() -> None:
    reply = f"I write it.\n<<Write: hello.py>\n```python\n{HELLO}```\n</WRITE>\n```bash\n«RUN hello.py»\n```\nDone."
    assert read_commands(reply).spelt == (
        f"I write it.\n<<WRITE: hello.py>>\n{HELLO}<</WRITE>>\n<<EXEC: hello.py>>\nDone."
    )
    assert read_commands(reply).shown.endswith("\n```\n\n**exec** `hello.py`\n\nDone.")
    assert read_commands("<<WRITE: >>\nx\n<</WRITE>>").spelt == "<<WRITE: >>\nx\n<</WRITE>>"


INVENTED = [
    "Run:\n<<EXEC: pytest>>\n\nOutput:\n```\n1 passed\n```\nAll tests pass.",
    "Run:\n```bash\n<<EXEC: pytest>>\n```\n\n**Expected output:**\n```\n1 passed\n```",
    "Run:\n`<<EXEC: pytest>>`\nThe result is:\n1 passed",
    "Run:\n<<EXEC: pytest>>\n[done: exec pytest: ok]",
    "Run:\n<<EXEC: pytest>>\n\nThe tests passed: 12 passed in 0.5s. The option is ready.",
]


@each_row("reply", INVENTED)
def test_results_that_a_model_makes_up_are_left_out(reply: str) -> None:
    found = read_commands(reply)
    assert found.invented
    assert found.spelt.strip("`\n ").endswith("<<EXEC: pytest>>")
    assert "passed" not in found.shown + prose_of(reply)


def test_words_after_a_command_that_claim_no_result_stay() -> None:
    for reply in ("<<EXEC: ls>>\nThe results tell us more.", f"<<WRITE: a.py>>\n{HELLO}<</WRITE>>\nOutput:\nA line."):
        found = read_commands(reply)
        assert not found.invented
        assert found.shown.endswith(reply.rpartition("\n")[2])


def test_a_command_after_a_made_up_result_is_still_one() -> None:
    text = "<<EXEC: ls>>\nOutput:\na.txt\n<<READ: a.txt>>"
    assert [one[:2] for one in told(text)] == [("exec", "ls"), ("read", "a.txt")]
    assert read_commands(text).spelt == "<<EXEC: ls>>\n<<READ: a.txt>>"


@given(
    st.lists(st.sampled_from(["<<", ">>", "WRITE", ": ", "a.py", "\n", "<</WRITE>>", "```", "EXEC", "<", "READ:", "x"]))
)
def test_any_reply_is_read_without_losing_its_way(parts: list[str]) -> None:
    text = "".join(parts)
    found = read_commands(text)
    assert len(found.commands) <= text.count("<<") + text.count("<")


@pytest.mark.whole
def test_a_long_reply_of_commands_without_an_end_is_read() -> None:
    assert len(told("<<WRITE: a.py>>\n" * scaled(3_000))) <= 3_000


SPOKEN = [
    ("I look first.\n\n<<READ: app/main>>\n\nThen I tell you.", "I look first.\n\nThen I tell you."),
    ("New file:\n<<WRITE: a.txt>>\nx < y\n<</WRITE>>\nIt is `a < b`.\n", "New file:\n\nIt is `a < b`."),
    ("So:\n```\n<<EXEC: ls -l>>\n```\nDone.", "So:\n\nDone."),
    ("Types are `List<int>` and [a](b).\n```\ncode\n```\n", "Types are `List<int>` and [a](b).\n```\ncode\n```"),
    ("```\ncode\n```\n<<READ: a.txt>>\nSo.\n", "```\ncode\n```\n\nSo."),
    ("<<EXEC:\nls\n<</EXEC>>\nThat is all.", "That is all."),
    ("Look:\n<<EDIT: a.txt>>\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n<</EDIT>>", "Look:"),
]


@each_row(("reply", "spoken"), SPOKEN)
def test_prose_is_shown_as_it_comes_and_nothing_of_a_command_is(reply: str, spoken: str) -> None:
    shown = ""
    for end in range(len(reply) + 1):
        now = prose_of(reply[:end], whole=False)
        assert now.startswith(shown), "what was shown is not taken back"
        assert "<<" not in now
        shown = now
    assert prose_of(reply) == spoken
    assert spoken.startswith(shown)


def test_a_reply_of_many_blanks_after_the_beginning_of_an_end_is_read() -> None:
    read = read_commands("<<WRITE: a.txt>>\none\n<END" + " " * 300_000)
    assert [command.argument for command in read.commands] == ["a.txt"]
