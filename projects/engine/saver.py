"""Where LangGraph keeps its checkpoints: two tables of the ordinary database, beside the truth they belong to.

One database means one transaction log, one backup and, on PostgreSQL, many workers; no second file to lose.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from django.db import connection, transaction
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from projects.models import GraphCheckpoint, GraphWrite
from projects.services.audit.canonical import clean_json
from projects.services.audit.sealing import Seal

WRITE_COLUMNS = ["thread_id", "ns", "checkpoint_id", "task_id", "idx"]


class DjangoSaver(BaseCheckpointSaver[str]):
    """LangGraph's checkpoint interface over the Django ORM, for graphs that are run synchronously, as all of ours are.

    The graph's state is plain data, so only LangGraph's own safe types are ever built from stored bytes; anything else
    comes back as data. It is sealed before it is stored: a run goes on with exactly what it had, and the tables show
    nothing of it. One worker per thread_id at a time is the caller's promise (the task's lease).
    """

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde or EncryptedSerializer(Seal(), JsonPlusSerializer(allowed_msgpack_modules=None)))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The named checkpoint of a thread, or its newest."""
        thread, ns = _place(config)
        rows = GraphCheckpoint.objects.filter(thread_id=thread, ns=ns)
        wanted = get_checkpoint_id(config)
        with _tidy_connection():
            row = (rows.filter(checkpoint_id=wanted) if wanted else rows.order_by("-checkpoint_id")).first()
            return None if row is None else self._tuple(row)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first: of a thread, with metadata equal to `filter`, older than `before`."""
        with _tidy_connection():
            found = [self._tuple(row) for row in self._select(config, filter or {}, before, limit)]
        yield from found

    def _select(
        self, config: RunnableConfig | None, wanted: dict[str, Any], before: RunnableConfig | None, limit: int | None
    ) -> Iterator[GraphCheckpoint]:
        rows = GraphCheckpoint.objects.order_by("-checkpoint_id")
        if config:
            place = config["configurable"]
            rows = rows.filter(thread_id=str(place["thread_id"]))
            if place.get("checkpoint_ns") is not None:
                rows = rows.filter(ns=place["checkpoint_ns"])
            if checkpoint_id := get_checkpoint_id(config):
                rows = rows.filter(checkpoint_id=checkpoint_id)
        if before and (newest := get_checkpoint_id(before)):
            rows = rows.filter(checkpoint_id__lt=newest)
        left = limit
        for row in rows:
            if left is not None and left <= 0:
                return
            # Compared here, not by the database: a key may hold "__", which a lookup would read as a path.
            if all(key in row.metadata and row.metadata[key] == clean_json(value) for key, value in wanted.items()):
                left = None if left is None else left - 1
                yield row

    def _tuple(self, row: GraphCheckpoint) -> CheckpointTuple:
        writes = GraphWrite.objects.filter(thread_id=row.thread_id, ns=row.ns, checkpoint_id=row.checkpoint_id)
        # Sorted here, not by the database, whose collation may differ from the order the run applied them in.
        ordered = sorted(writes, key=lambda write: writes_sort_key(write.task_path, write.task_id, write.idx))
        return CheckpointTuple(
            _config(row.thread_id, row.ns, row.checkpoint_id),
            self.serde.loads_typed((row.kind, bytes(row.blob))),
            row.metadata,
            _config(row.thread_id, row.ns, row.parent_id) if row.parent_id else None,
            [
                (write.task_id, write.channel, self.serde.loads_typed((write.kind, bytes(write.blob))))
                for write in ordered
            ],
        )

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; storing it again replaces it."""
        thread, ns = _place(config)
        kind, blob = self.serde.dumps_typed(checkpoint)
        row = GraphCheckpoint(
            thread_id=thread,
            ns=ns,
            checkpoint_id=checkpoint["id"],
            parent_id=get_checkpoint_id(config),
            kind=kind,
            blob=blob,
            metadata=clean_json(dict(get_serializable_checkpoint_metadata(config, metadata))),
        )
        with _tidy_connection():
            GraphCheckpoint.objects.bulk_create(
                [row],
                update_conflicts=True,
                unique_fields=["thread_id", "ns", "checkpoint_id"],
                update_fields=["parent_id", "kind", "blob", "metadata"],
            )
        return _config(thread, ns, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a node wrote before its step was finished.

        Special writes (error, interrupt, resume) replace older ones; ordinary ones keep the first, so a node that runs
        twice counts once.
        """
        thread, ns = _place(config)
        rows = []
        for index, (channel, value) in enumerate(writes):
            kind, blob = self.serde.dumps_typed(value)
            rows.append(
                GraphWrite(
                    thread_id=thread,
                    ns=ns,
                    checkpoint_id=str(config["configurable"]["checkpoint_id"]),
                    task_id=task_id,
                    task_path=task_path,
                    idx=WRITES_IDX_MAP.get(channel, index),
                    channel=channel,
                    kind=kind,
                    blob=blob,
                )
            )
        special = [row for row in rows if row.channel in WRITES_IDX_MAP]
        ordinary = [row for row in rows if row.channel not in WRITES_IDX_MAP]
        with _tidy_connection(), transaction.atomic():
            if special:
                GraphWrite.objects.bulk_create(
                    special,
                    update_conflicts=True,
                    unique_fields=WRITE_COLUMNS,
                    update_fields=["task_path", "channel", "kind", "blob"],
                )
            if ordinary:
                GraphWrite.objects.bulk_create(ordinary, ignore_conflicts=True)

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        with _tidy_connection(), transaction.atomic():
            GraphCheckpoint.objects.filter(thread_id=str(thread_id)).delete()
            GraphWrite.objects.filter(thread_id=str(thread_id)).delete()

    def get_next_version(self, current: str | None, channel: None) -> str:
        """A version that sorts after `current`; the random end keeps forks of one thread apart."""
        count = 0 if current is None else int(str(current).split(".")[0])
        return f"{count + 1:032}.{random.random():016}"  # noqa: S311  not a secret


def run_or_resume(graph: Any, thread: str, start: Callable[[], Any], *, context: Any, steps: int) -> dict[str, Any]:
    """Run a graph from `start()`, or go on where its thread stopped; of a thread that is over, its last state.

    A thread is over when its newest checkpoint leads to no node. `next` of its snapshot does not tell: it leaves out
    nodes that have written already, as after a kill between a node's writes and the checkpoint that follows them.
    """
    config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": steps}
    snapshot = graph.get_state(config)
    if snapshot.values and not snapshot.tasks:
        return cast(dict[str, Any], snapshot.values)
    state = graph.invoke(None if snapshot.tasks else start(), config, context=context, durability="sync")
    return cast(dict[str, Any], state)


def _place(config: RunnableConfig) -> tuple[str, str]:
    place = config["configurable"]
    return str(place["thread_id"]), str(place.get("checkpoint_ns") or "")


def _config(thread: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


@contextmanager
def _tidy_connection() -> Iterator[None]:
    """Close the connection afterwards when this thread had none: LangGraph writes from short-lived threads."""
    had = connection.connection is not None
    try:
        yield
    finally:
        if not had and not connection.in_atomic_block:
            connection.close()
