"""Waking the workers: jobs by name, after the commit."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)


def enqueue(name: str, *args: Any) -> None:
    """Send the job `name` once the current transaction is committed.

    A broker that does not answer is logged, never raised: the work is in the database, where the sweep finds it.
    """
    transaction.on_commit(partial(send, name, args))


def send(name: str, args: tuple[Any, ...]) -> None:
    """Hand the job to the broker now."""
    try:
        import_string(settings.JOB_QUEUE).send_task(name, args=list(args), ignore_result=True, retry=False)
    except Exception as problem:  # noqa: BLE001  brokers differ in what they raise; all of it means "woken later"
        logger.warning("job %s%r waits for the sweep: %s", name, args, problem)
