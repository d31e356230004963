"""The JSON of TODO mode is read whatever a small model makes of it; what is missing shows as a placeholder."""

import json

from hypothesis import given
from hypothesis import strategies as st

from agents.conversation.todo_calls import TOOL_NAMES
from agents.conversation.todo_json import SCHEMA, TodoReply, read_todo_reply
from tests.tables import each_row

CALL = '"tool": {"name": "read_file", "input": {"path": "app.py"}}'


def calls(text: str) -> list[tuple[str, str, str]]:
    return [(one.tool, one.argument, one.body) for one in read_todo_reply(text).commands]


@each_row(
    "text",
    [
        f'{{"message": "I look.", {CALL}, "complete": false}}',
        f'```json\n{{"message": "I look.", {CALL}}}\n```',
        f'Sure! Here is the JSON:\n{{"message": "I look.", {CALL}}}\nI hope {{this}} helps.',
        f'{{"message": "I look.", {CALL},}}',
        "{'message': 'I look.', 'tool': {'name': 'read_file', 'input': {'path': 'app.py'}}, 'complete': False}",
        f'{{"message": "I look.", // first\n{CALL}, /* it */ "complete": false\n# end\n}}\nDone {{so}}.',
        f'{{"message": "I look.", {CALL}',
        '{"message": "I look.", "tool": {"name": "read_file", "input": {"path": "app.py',
        f'{{"message": "I look."}}\n{{{CALL}}}',
        f'[{{"message": "I look."}}, {{{CALL}}}]',
        '{"message": "I look.", "tools": [{"tool": "readFile", "arguments": {"file_path": "app.py"}}]}',
        '{"message": "I look.", "calls": [], "tool_calls": [{"function": {"name": "read_file", '
        '"arguments": "{\\"path\\": \\"app.py\\"}"}}]}',
        '{"message": "I look.", "tool": "read_file", "input": "app.py"}',
        '{"message": "I look.", "action": "read_file", "path": "app.py"}',
        '{"message": "I look."}\n{"name": "read_file", "arguments": {"path": "app.py"}}',
        '{"response": {"message": "I look.", "tool": {"name": "Read_File", "input": ["app.py"]}}}',
        '{message: "I look.", tool: {name: read_file, input: {path: app.py}}}',
        '{"message": "I look."}\n<<READ: app.py>>',
        "I look.\n<<READ: app.py>>",
        "The set {1, 2} is {fine}.\n" + f'{{"message": "I look.", {CALL}}}',
    ],
)
def test_a_call_is_found_in_what_small_models_write(text: str) -> None:
    reply = read_todo_reply(text)
    assert reply.found
    assert "I look." in reply.message or reply.words
    assert calls(text) == [("read", "app.py", "")]


@each_row(
    "text",
    [
        '{"message": "m", "todos": [{"description": "Write it", "expected": "It is there", "status": "pending"}]}',
        '[{"description": "Write it", "expected_result": "It is there"}]',
        '{"todos": {"1": {"task": "Write it", "goal": "It is there"}}}',
        '{"plan": [{"title": "Write it", "expectedResult": "It is there", "state": "PENDING"}],}',
        '{"description": "Write it", "expected": "It is there"}',
        '{"todo": "Write it", "expected": "It is there", "done": false}',
    ],
)
def test_todos_are_found_under_their_usual_names(text: str) -> None:
    (todo,) = read_todo_reply(text).todos
    assert (todo.description, todo.expected, todo.done) == ("Write it", "It is there", False)


def test_each_missing_value_becomes_a_placeholder() -> None:
    reply = read_todo_reply(
        '{"todos": [{}, {"expected": "x"}, "Write it", {"description": null, "status": 7}], "judgement": {}}'
    )
    assert [(one.description, one.expected) for one in reply.todos] == [
        ("(no description given)", "x"),
        ("Write it", "(no expected result given)"),
        ("(no description given)", "(no expected result given)"),
    ]
    assert reply.judgement is not None
    assert (reply.judgement.accepted, reply.judgement.feedback) == (False, "(no feedback given)")
    assert reply.message == "(no message given)"
    assert reply.complete is None


@each_row(
    ("text", "accepted"),
    [
        ('{"judgement": {"accepted": true, "feedback": "Good"}}', True),
        ('{"accepted": "yes", "feedback": "Good"}', True),
        ('{"verdict": "accepted"}', True),
        ('{"judgement": {"accepted": "perhaps"}}', False),
        ('{"judgement": "It looks good to me"}', False),
        ('{"judgement": [true]}', False),
    ],
)
def test_only_a_clear_yes_accepts(text: str, accepted: bool) -> None:
    judged = read_todo_reply(text).judgement
    assert judged is not None
    assert judged.accepted is accepted


def test_a_call_that_cannot_be_understood_says_what_is_wrong_with_it() -> None:
    for text, words in (
        ('{"tool": {"name": "fly", "input": {}}}', "There is no tool of this name"),
        ('{"tool": null, "message": "m", "tools": [7]}', "There is no tool of this name"),
        ('{"tool": {"name": "read_file"}}', "read_file names no path"),
        ('{"tool": {"name": "create_file", "input": {"path": "a.py"}}}', "below the JSON, in <<WRITE: a.py>>"),
        ('{"tool": {"name": "edit_file", "input": {"path": "a.py", "search": 3}}}', ""),
    ):
        (command,) = read_todo_reply(text).commands
        assert words in command.problem


def test_a_files_content_comes_in_the_json_or_below_it() -> None:
    code = 'def hi():\n    return {"a": "b"}\n'
    inside = {"message": "m", "tool": {"name": "create_file", "input": {"path": "a.py", "content": code}}}
    call = '{"message": "m", "tool": {"name": "create_file", "input": {"path": "a.py"}}}'
    below = f"{call}\n<<WRITE: a.py>>\n{code}<</WRITE>>"
    expected = [("write", "a.py", code)]
    assert calls(json.dumps(inside)) == expected
    assert calls(json.dumps(inside).replace("\\n", "\n")) == expected
    assert calls(below) == expected
    assert calls(below.replace("}}}", "}}", 1)) == expected, "a bracket too few"
    assert calls(f'<<WRITE: a.py>>\n{code}<</WRITE>>\n{{"message": "It is written.", "complete": true}}') == expected
    assert (
        calls('{"tool": {"name": "create_file", "input": {"path": "a.py", "content": """' + code + '"""}}}') == expected
    )


def test_content_below_the_json_takes_the_place_of_its_call() -> None:
    announced = [{"name": "create_file", "input": {"path": path}} for path in ("a.py", "b.py")]
    run = {"name": "run_command", "input": {"command": "true"}}
    below = "<<WRITE: b.py>>\nb = 1\n<</WRITE>>\n<<WRITE: a.py>>\na = 1\n<</WRITE>>\n<<WRITE: c.py>>\nc = 1\n<</WRITE>>"
    found = calls(f"{json.dumps({'message': 'm', 'tool': [announced[0], run, announced[1]]})}\n{below}")
    assert [one[:2] for one in found] == [("write", "a.py"), ("exec", "true"), ("write", "b.py"), ("write", "c.py")]
    nameless = {"message": "m", "tool": [{"name": "create_file"}, run]}
    assert [one[:2] for one in calls(f"{json.dumps(nameless)}\n<<WRITE: a.py>>\na = 1\n<</WRITE>>")] == [
        ("write", "a.py"),
        ("exec", "true"),
    ]


def test_half_a_file_is_not_written() -> None:
    whole = '{"tool": {"name": "create_file", "input": {"path": "a.py", "content": "x = 1\\ny = 2"}}}'
    single = whole.replace('"', "'")
    end = whole.index("= 2") + 1
    for text in (whole[:end], single[:end], f"[{whole[:end]}", whole[: whole.index("2") + 1]):
        (command,) = read_todo_reply(text).commands
        assert "cut off in the content of a.py" in command.problem
        assert command.body == ""
    assert calls(whole.removesuffix("}}}")) == [("write", "a.py", "x = 1\ny = 2\n")], "only brackets are missing"
    assert read_todo_reply(whole.removesuffix("}}}"), truncated=True).commands[0].problem


def test_what_is_run_again_after_an_edit_is_run_again() -> None:
    run = "<<EXEC: python a.py>>"
    text = f"{run}\n{run}\n<<EDIT: a.py>>\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n<</EDIT>>\n{run}"
    assert [tool for tool, _, _ in calls(text)] == ["exec", "edit", "exec"]


def test_a_command_inside_a_string_is_words() -> None:
    reply = read_todo_reply('{"message": "I could use <<EXEC: rm -r x>> or <<WRITE: a>>", "complete": true}')
    assert (reply.commands, reply.complete) == ([], True)


def test_an_edit_is_search_and_replace_or_a_patch() -> None:
    block = "<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE"
    for given_ in (
        {"search": "a = 1", "replace": "a = 2"},
        {"old_string": "a = 1\n", "new_string": "a = 2\n"},
        {"edits": [{"search": "a = 1", "replace": "a = 2"}]},
        {"patch": block},
    ):
        text = json.dumps({"tool": {"name": "edit_file", "input": {"path": "a.py", **given_}}})
        assert calls(text) == [("edit", "a.py", block)]


def test_every_tool_has_its_command() -> None:
    for tool, name in TOOL_NAMES.items():
        (command,) = read_todo_reply(json.dumps({"tool": {"name": name, "input": "x"}})).commands
        assert command.tool == tool
    read = {"tool": {"name": "read_file", "input": {"path": "a", "first": 3, "last": 9}}}
    assert calls(json.dumps(read)) == [("read", "a:3-9", "")]
    assert calls('{"tool": {"name": "run_command", "input": {"command": ["python", "a b.py"]}}}') == [
        ("exec", "python 'a b.py'", "")
    ]


def test_words_without_json_are_words() -> None:
    reply = read_todo_reply("I cannot do that, sorry.")
    assert (reply.found, reply.message) == (False, "I cannot do that, sorry.")


def test_a_reply_has_at_most_ten_calls_and_a_nest_of_brackets_is_nothing() -> None:
    many = [{"name": "read_file", "input": f"{number}.py"} for number in range(40)]
    assert len(read_todo_reply(json.dumps({"tool": many})).commands) == 10
    assert not read_todo_reply('{"message":' * 5_000).found
    assert not read_todo_reply('{"message":' + "[" * 500 + "]" * 500 + "}").found


KEYS = st.sampled_from(
    [*SCHEMA["properties"], "name", "input", "accepted", "description", "expected", "path", "content"]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(list(TOOL_NAMES.values())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def usable(reply: TodoReply) -> None:
    assert isinstance(reply.message, str)
    for command in reply.commands:
        assert all(isinstance(text, str) for text in (command.tool, command.argument, command.body))
    json.dumps([reply.message, *(todo.description for todo in reply.todos)]).encode()


@given(st.text(alphabet=st.characters() | st.sampled_from(list("{}[]\"':,\\`#/<>\n")), max_size=300))
def test_no_text_is_too_broken(text: str) -> None:
    usable(read_todo_reply(text))
    usable(read_todo_reply(text, truncated=True))


@given(VALUES, st.integers(0, 400))
def test_no_object_is_too_odd_whole_or_cut(value: object, cut: int) -> None:
    text = json.dumps(value)
    usable(read_todo_reply(text))
    usable(read_todo_reply(text[:cut]))
