"""LangGraph's own conformance suite, and what it does not ask."""

import operator
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from projects.engine.saver import DjangoSaver, run_or_resume
from projects.models import GraphCheckpoint, GraphWrite

pytestmark = pytest.mark.django_db(transaction=True)


def for_coroutines(name: str) -> Any:
    async def call(self: DjangoSaver, *args: Any, **kwargs: Any) -> Any:
        return await sync_to_async(getattr(self, name))(*args, **kwargs)

    return call


class SaverForCoroutines(DjangoSaver):
    """The suite only asks coroutines; the product runs its graphs synchronously."""

    aget_tuple, aput, aput_writes = map(for_coroutines, ("get_tuple", "put", "put_writes"))
    adelete_thread = for_coroutines("delete_thread")

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        for found in await sync_to_async(lambda: tuple(self.list(*args, **kwargs)))():
            yield found


def test_the_official_conformance_suite_passes_in_every_capability_that_a_graph_needs():
    @checkpointer_test(name="DjangoSaver")
    async def saver():
        yield SaverForCoroutines()

    report = async_to_sync(validate)(saver)
    asked = {name: result for name, result in report.results.items() if result.detected}
    assert {name: result.failures for name, result in asked.items() if not result.passed} == {}
    assert len(asked) == 5


@dataclass
class Foreign:
    name: str


class State(TypedDict, total=False):
    done: Annotated[list[str], operator.add]


def graph_with(first: Any, second: Any, saver: DjangoSaver | None = None) -> Any:
    graph = StateGraph(State)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    return graph.compile(checkpointer=saver or DjangoSaver())


def test_a_crashed_graph_goes_on_at_the_node_it_was_in():
    ran: list[str] = []

    def first(state: State) -> State:
        ran.append("first")
        return {"done": ["first"]}

    def second(state: State) -> State:
        ran.append("second")
        if ran.count("second") == 1:
            raise OSError("killed here")
        return {"done": ["second"]}

    config = {"configurable": {"thread_id": "task-1-g1"}}
    with pytest.raises(OSError, match="killed here"):
        graph_with(first, second).invoke({}, config, durability="sync")
    state = graph_with(first, second).invoke(None, config, durability="sync")
    assert state["done"] == ["first", "second"]
    assert ran == ["first", "second", "second"]


class Killed(BaseException):
    """Nothing catches it, as nothing survives SIGKILL."""


class KilledBeforeTheNthCheckpoint(DjangoSaver):
    def __init__(self, last: int) -> None:
        super().__init__()
        self._left = last

    def put(self, *args: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise Killed
        return super().put(*args)


@pytest.mark.parametrize("checkpoints", range(5))
def test_a_graph_killed_between_what_a_node_wrote_and_its_checkpoint_is_not_over(checkpoints: int):
    nodes = (lambda state: {"done": ["first"]}, lambda state: {"done": ["second"]})
    graph = graph_with(*nodes, saver=KilledBeforeTheNthCheckpoint(checkpoints))
    thread = f"task-1-g{checkpoints}"

    def run(graph: Any) -> Any:
        return run_or_resume(graph, thread, lambda: {"done": ["start"]}, context=None, steps=10)

    if checkpoints < 4:  # of the input, and before and after each node
        with pytest.raises(Killed):
            run(graph)
    assert run(graph_with(*nodes))["done"] == ["start", "first", "second"]
    assert run(graph_with(*nodes))["done"] == ["start", "first", "second"], "what is over is not run again"


def test_a_question_waits_for_its_answer_in_the_database():
    def ask(state: State) -> State:
        return {"done": [interrupt("may I?")]}

    graph = graph_with(ask, lambda state: {"done": ["after"]})
    config = {"configurable": {"thread_id": "task-2-g1"}}
    graph.invoke({}, config, durability="sync")
    assert [wait.value for wait in graph.get_state(config).interrupts] == ["may I?"]
    again = graph_with(ask, lambda state: {"done": ["after"]})
    assert again.invoke(Command(resume="yes"), config, durability="sync")["done"] == ["yes", "after"]


def test_a_deleted_thread_leaves_no_rows():
    graph = graph_with(lambda state: {"done": ["a"]}, lambda state: {"done": ["b"]})
    graph.invoke({}, {"configurable": {"thread_id": "gone"}}, durability="sync")
    graph.invoke({}, {"configurable": {"thread_id": "kept"}}, durability="sync")
    DjangoSaver().delete_thread("gone")
    assert set(GraphCheckpoint.objects.values_list("thread_id", flat=True)) == {"kept"}
    assert not GraphWrite.objects.filter(thread_id="gone").exists()


def test_a_stored_object_of_a_foreign_type_is_never_built():
    kind, blob = DjangoSaver().serde.dumps_typed({"held": Foreign("x")})
    loaded = DjangoSaver().serde.loads_typed((kind, blob))
    assert not isinstance(loaded["held"], Foreign)


def test_a_thread_without_a_connection_of_its_own_leaves_none_behind():
    left: list[Any] = []

    def look() -> None:
        DjangoSaver().get_tuple({"configurable": {"thread_id": "nobody"}})
        left.append(connection.connection)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert left == [None]
