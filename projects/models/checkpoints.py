"""Where the task graph's checkpoints are stored, so that a killed job goes on at the node it was in."""

from __future__ import annotations

from django.db import models


class GraphCheckpoint(models.Model):
    """State of one graph thread after one node."""

    thread_id = models.CharField(max_length=120)
    ns = models.CharField(max_length=120, blank=True)
    checkpoint_id = models.CharField(max_length=60)
    parent_id = models.CharField(max_length=60, null=True)  # noqa: DJ001  NULL means "the first"
    kind = models.CharField(max_length=40)
    blob = models.BinaryField()
    metadata = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread_id", "ns", "checkpoint_id"], name="checkpoint_once")]

    def __str__(self) -> str:
        return f"{self.thread_id} {self.checkpoint_id}"


class GraphWrite(models.Model):
    """One pending write of a node whose step is not finished."""

    thread_id = models.CharField(max_length=120)
    ns = models.CharField(max_length=120, blank=True)
    checkpoint_id = models.CharField(max_length=60)
    task_id = models.CharField(max_length=60)
    task_path = models.CharField(max_length=200, blank=True)
    idx = models.IntegerField()
    channel = models.CharField(max_length=120)
    kind = models.CharField(max_length=40)
    blob = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread_id", "ns", "checkpoint_id", "task_id", "idx"], name="write_once")
        ]

    def __str__(self) -> str:
        return f"{self.thread_id} {self.channel}"


class SealedReply(models.Model):
    """A model's exact words, sealed, until its run has ended; the event of the thought shows them redacted."""

    run = models.ForeignKey("projects.Run", models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    blob = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="sealed_reply_once")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.key}"
