"""Jobs of chats: the turns that the dashboard takes."""

from __future__ import annotations

import logging

from celery import shared_task
from django.db import close_old_connections

from agents.workspace.git import GitError
from projects.engine import chat_turns
from projects.engine.chat import ChatHeld
from projects.errors import ProjectsError
from projects.models import Chat, Run
from projects.services.work import chats
from projects.workers.queue import enqueue

log = logging.getLogger("aiswe.jobs")


@shared_task(name=chats.JOB)
def chat_turn(run_id: int) -> None:
    """Go on with a chat of the dashboard until its turn is over or a person has to answer."""
    close_old_connections()
    run = Run.objects.select_related("project", "started_by").filter(pk=run_id, kind=Run.Kind.CHAT).first()
    chat = Chat.objects.select_related("speaker").filter(run=run).first()
    if run is None or chat is None or not chats.wants_turn(run, chat):
        return
    try:
        chat_turns.take(run, chat)
    except ChatHeld:
        return  # who holds it looks again when it lets go, and so does the sweep
    except (ProjectsError, GitError) as refusal:
        log.info("chat %s cannot be opened: %s", run_id, refusal)
        chats.not_opened(run, str(refusal))
        return
    # The answer or the next words may have come before the chat was free again.
    run.refresh_from_db()
    chat.refresh_from_db()
    if chats.wants_turn(run, chat):
        enqueue(chats.JOB, run_id)
