"""Exercises in JavaScript and TypeScript: an answer with one function instead of the file damages none of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agents.languages.node.definitions import definitions_of
from agents.languages.node.text import normal
from agents.languages.registry import language
from agents.replies.apply import apply_reply
from agents.replies.keeping import Keeping
from agents.replies.parse import parse_reply
from measure.trials.datasets import TrialTask, load_tasks
from tests.tables import each_row

FOLDER = Path(__file__).parents[3] / "measure" / "corpora" / "node_exercises"
TASKS = {task.id: task for task in load_tasks(FOLDER, "folder")}


def parts(task: TrialTask) -> Iterator[tuple[str, str, str]]:
    """Path, name and text of each definition at the top of the right files and in their classes."""
    for path, text in task.reference.items():
        lines = text.splitlines(keepends=True)
        for one in definitions_of(path, text) or []:
            if one.kind in ("function", "class"):
                yield path, one.name, "".join(lines[one.first - 1 : one.last])


TRAPS = [(task, *part) for task in TASKS for part in parts(TASKS[task])]


def answered(path: str, base: str, reply: str) -> tuple[str, list[str]]:
    """The file after a reply, and why a part of it was refused."""
    applied = apply_reply(parse_reply(reply), {path: base}, keeping=Keeping(base={path: base}))
    return applied.files.get(path, base), [reason for _, reason in applied.refused]


def test_there_are_twenty_exercises_in_both_languages_that_are_tested() -> None:
    assert len(TASKS) == 20
    typed = [name for name, task in TASKS.items() if any(path.endswith(".ts") for path in task.reference)]
    assert len(typed) == 6
    node = language("node")
    for task in TASKS.values():
        assert [one for path, text in task.tests.items() for one in node.ids_of_tests(path, text)]
        assert not any(node.syntax_error(path, text) for path, text in {**task.start, **task.reference}.items())


def test_one_function_instead_of_the_file_leaves_all_else_as_it_is() -> None:
    assert len(TRAPS) > 60
    refused = 0
    for name, path, of, part in TRAPS:
        right = TASKS[name].reference[path]
        out, reasons = answered(path, right, f"```{path.rpartition('.')[2]} path={path}\n{part}```\n")
        # A block with all of the file's definitions is the file: only a comment above them may be missing.
        assert normal(out) == normal(right), (name, of)
        refused += bool(reasons)
    assert refused <= 6  # asked again: most of a file may be meant as the file, and one overload of three is unclear


@each_row("name", sorted(TASKS))
def test_the_corrected_definition_alone_makes_the_file_right(name: str) -> None:
    task = TASKS[name]
    path, right = next(iter(task.reference.items()))
    wrong = task.start[path]
    before, after = (
        ["\n".join(text.splitlines()[one.first - 1 : one.last]) for one in definitions_of(path, text) or []]
        for text in (wrong, right)
    )
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    for text in (changed[0], changed[-1]):  # a class, and its method without it
        out, refused = answered(path, wrong, f"```{path.rpartition('.')[2]} path={path}\n{text}\n```\n")
        assert normal(out) == normal(wrong if refused else right), text
    assert not refused, refused


@each_row("suffix", ["js", "jsx", "ts", "tsx", "mjs"])
def test_a_file_is_replaced_and_edited_in_each_notation(suffix: str) -> None:
    path, old = f"src/app.{suffix}", "export function App() {\n  return 1;\n}\n\nexport const size = 2;\n"
    assert answered(path, old, f"```{suffix} path={path}\n{old.replace('1', '3')}```\n")[0] == old.replace("1", "3")
    edit = f"```{suffix} path={path}\n<<<<<<< SEARCH\n  return 1;\n=======\n  return 4;\n>>>>>>> REPLACE\n```\n"
    assert answered(path, old, edit)[0] == old.replace("1", "4")
    assert answered(path, old, f"```{suffix} path={path}\nfunction App() {{\n  return 5;\n}}\n```\n")[0] == old.replace(
        "1", "5"
    )
