"""How plans, TODOs, tool calls, results and errors look: alike on every surface.

States are words, with a mark before them. What a model or a program wrote is shown without control characters.
"""

from __future__ import annotations

from agents.conversation.state import ChatPlan, Command, PlanStep, StepState, ToolResult
from agents.conversation.todo_json import NO_EXPECTED
from agents.conversation.web_text import one_line

MARKS: dict[StepState, tuple[str, str]] = {
    "pending": ("[ ]", "pending"),
    "in_progress": ("[>]", "in progress"),
    "done": ("[x]", "done"),
    "failed": ("[!]", "not accepted"),
    "skipped": ("[-]", "skipped"),
}
TOOL_TITLES = {
    "find": "file search",
    "read": "read file",
    "write": "write file",
    "edit": "edit file",
    "delete": "delete",
    "exec": "terminal",
    "search": "web search",
    "confirm": "question",
    "todo_add": "add TODO",
    "todo_update": "change TODO",
    "todo_done": "TODO done",
    "todo_skip": "skip TODO",
}
FOLLOW = ["follow it", "plan it again with these words", "leave it"]
MOST_LINES, HEAD_LINES = 40, 10  # of an input or output, and how many of them are its beginning


def todo_lines(step: PlanStep) -> list[str]:
    """A TODO: its state, description and expected result."""
    mark, word = MARKS[step.state]
    lines = [f"{mark} {word}: TODO {step.number}: {one_line(step.description, markup=False)}"]
    lines.append(f"    Expected: {one_line(step.expected, markup=False) or NO_EXPECTED}")
    return [*lines, f"    Note: {one_line(step.note, markup=False)}"] if step.note else lines


def todo_markdown(step: PlanStep) -> str:
    """A TODO as an item of a list."""
    first, *others = todo_lines(step)
    mark, word = MARKS[step.state]
    head = f"- `{mark}` **{word}**: {first.removeprefix(f'{mark} {word}: ')}"
    return "\n".join([head, *(f"  - {line.strip()}" for line in others)])


def settled(plan: ChatPlan) -> str:
    """How far a plan is, in words."""
    counts = {word: sum(step.state == state for step in plan.steps) for state, (_, word) in MARKS.items()}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no TODOs"


def plan_lines(plan: ChatPlan) -> list[str]:
    """A plan with its steps, and what is asked about it, if anything is."""
    lines = [f"Plan: {one_line(plan.goal, markup=False)[:300]} ({settled(plan)})"]
    lines += [line for step in plan.steps for line in todo_lines(step)]
    return [*lines, *question_lines(plan)]


def question_lines(plan: ChatPlan) -> list[str]:
    """What a person is asked about a plan, and what each answer means."""
    if plan.over or (plan.approved and not plan.question):
        return []
    yes, words, no = plan.choices if len(plan.choices) == 3 else FOLLOW
    question = _clean(plan.question) or "Is this plan to be followed?"
    return [*question.splitlines(), f"Yes: {yes}. No, with words: {words}. No: {no}."]


def summary_lines(plan: ChatPlan, complete: bool) -> list[str]:
    """How TODO mode ended: whether the task is complete, each TODO."""
    verdict = f"The task is {'' if complete else 'not '}complete ({settled(plan)})."
    return [verdict, *(line for step in plan.steps for line in todo_lines(step))]


def summary_markdown(plan: ChatPlan, complete: bool, words: str) -> str:
    """The same as Markdown, with the model's words."""
    verdict, *_ = summary_lines(plan, complete)
    return "\n\n".join(filter(None, [f"**{verdict}**", words.strip(), "\n".join(map(todo_markdown, plan.steps))]))


def call_lines(command: Command) -> list[str]:
    """A tool and its input."""
    lines = [f"Tool: {TOOL_TITLES.get(command.tool, one_line(command.tool, markup=False))}"]
    if command.argument:
        lines += _block("Input", command.argument)
    return lines + (_block("Content", command.body) if command.body else [])


def result_lines(result: ToolResult) -> list[str]:
    """What a tool gave; of a failure also its context and what can be done next."""
    if result.ok:
        return _block("Output", result.output)
    lines = [f"Failed: {TOOL_TITLES.get(result.tool, result.tool)} ({one_line(result.title, markup=False)})"]
    lines += _block("Error", result.output.removeprefix("ERROR: "))
    return [*lines, f"  Next: {next_steps(result)}"]


def next_steps(result: ToolResult) -> str:
    """What can be done after a failure, in one line."""
    return " · ".join(one_line(step, markup=False) for step in result.next_steps) or "retry · adjust · skip"


def _block(name: str, text: str) -> list[str]:
    rows = _cut(text).splitlines()
    return (
        [f"  {name}: {rows[0] if rows else ''}"] if len(rows) < 2 else [f"  {name}:", *(f"    {row}" for row in rows)]
    )


def _cut(text: str) -> str:
    rows = _clean(text).rstrip().splitlines()
    more = len(rows) - MOST_LINES
    if more > 0:  # of a test run, what matters stands at the end
        rows = [*rows[:HEAD_LINES], f"… {more} more lines …", *rows[HEAD_LINES + more :]]
    return "\n".join(rows)


def _clean(text: str) -> str:
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text.replace("\r\n", "\n"))
