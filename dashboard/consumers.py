"""The live stream: server to client only. Commands travel by POST, where CSRF, rights and the audit are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import Counter
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.utils.crypto import constant_time_compare

from dashboard import access, gatekeeper, stream
from dashboard.requests import number
from dashboard.text import plain
from projects.models import Run
from projects.services.audit.notifications import person_group

log = logging.getLogger(__name__)
NOT_SIGNED_IN, NOT_ALLOWED, TOO_MUCH = 4401, 4403, 4429


# Open sockets by person, in this process: one person's tabs must not use up what all share.
_open: Counter[int] = Counter()


def _permission(session_key: str | None, run_id: int) -> tuple[int, int]:
    """0 and the person when the session may still read the run, else the close code. Reads the session anew."""
    if not session_key:
        return NOT_SIGNED_IN, 0
    session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    pk = session.get(SESSION_KEY)
    user = get_user_model().objects.filter(pk=pk, is_active=True).first() if pk else None
    if user is None or not constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()):
        return NOT_SIGNED_IN, 0
    if gatekeeper.is_too_old(session, time.time()):
        return NOT_SIGNED_IN, 0
    if gatekeeper.lacks_factor(user) or not access.visible(Run, user).filter(pk=run_id).exists():
        return NOT_ALLOWED, 0
    return 0, user.pk


class RunConsumer(AsyncWebsocketConsumer):
    """One tab on one run: reads rows after its cursor whenever the doorbell rings, and every few seconds anyway."""

    batch_seconds = 0.05
    hidden_seconds = 0.25
    idle_seconds = 5.0  # a lost doorbell costs this much latency, never data
    recheck_seconds = 15.0  # for what rings no bell, like an account that is deactivated
    messages_per_minute = 120
    sockets_per_person = 40

    async def connect(self) -> None:
        """Accept the socket, or close it with a code that says why (a refused handshake cannot carry one)."""
        self.run_id = int(self.scope["url_route"]["kwargs"]["pk"])
        self.pump: asyncio.Task[None] | None = None
        self.wake = asyncio.Event()
        self.hidden = False
        self.deltas: dict[tuple[str, str], dict[str, Any]] = {}
        self.received: list[float] = []
        self.shut = False
        self.checked = time.monotonic()
        await self.accept()
        code, self.person = await self.permission()
        if not code and _open[self.person] >= self.sockets_per_person:
            code = TOO_MUCH
        if code:
            await self.hang_up(code)
            return
        query = dict(parse_qsl(self.scope.get("query_string", b"").decode("utf-8", "replace")))
        self.cursor = number(query, "after") or 0
        self.wanted = stream.Filter.read(query)
        self.group = f"run.{self.run_id}"
        # The group first, then the first look: what is announced in between is not missed.
        await self.channel_layer.group_add(self.group, self.channel_name)
        await self.channel_layer.group_add(person_group(self.person), self.channel_name)
        _open[self.person] += 1
        self.wake.set()
        self.pump = asyncio.create_task(self._pump())

    async def disconnect(self, code: int) -> None:
        """Leave nothing running."""
        if self.pump is not None:
            _open[self.person] -= 1
            if _open[self.person] <= 0:
                del _open[self.person]
            await self.channel_layer.group_discard(self.group, self.channel_name)
            await self.channel_layer.group_discard(person_group(self.person), self.channel_name)
            self.pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.pump

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A tab may only report whether it is hidden; one that sends too much is closed."""
        if self.shut:
            return  # what is still on its way after the hang-up costs nothing
        now = time.monotonic()
        self.received = [moment for moment in self.received if now - moment < 60] + [now]
        if len(self.received) > self.messages_per_minute or bytes_data or len(text_data or "") > 200:
            await self.hang_up(TOO_MUCH)
            return
        self.hidden = text_data == '{"hidden":true}'

    async def hang_up(self, code: int) -> None:
        """Close, and ignore what still arrives."""
        self.shut = True
        await self.close(code)

    async def permission(self) -> tuple[int, int]:
        """0 and who listens, or the code to close with."""
        session = self.scope.get("session")
        key = getattr(session, "session_key", None)
        return await database_sync_to_async(_permission)(key, self.run_id)

    async def run_poke(self, message: dict[str, Any]) -> None:
        """The doorbell."""
        self.wake.set()

    async def run_recheck(self, message: dict[str, Any]) -> None:
        """Something about this person's rights changed: look again before the next row."""
        self.checked = float("-inf")
        self.wake.set()

    async def run_delta(self, message: dict[str, Any]) -> None:
        """Words of a model as they come: joined until the next frame, never stored."""
        lane, ident = str(message.get("lane", ""))[:20], str(message.get("id", ""))[:80]
        text = plain(message.get("text", ""), 4_000)
        kept = self.deltas.get((lane, ident))
        if kept is None:
            offset = message.get("offset", 0)
            self.deltas[lane, ident] = {"lane": lane, "id": ident, "off": offset, "s": text}
        elif len(kept["s"]) < 8_000:
            kept["s"] += text
        self.wake.set()

    async def _pump(self) -> None:
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.wake.wait(), self.idle_seconds)
                self.wake.clear()
                now = time.monotonic()
                if now - self.checked >= self.recheck_seconds:
                    self.checked = now
                    code, _ = await self.permission()
                    if code:
                        await self.hang_up(code)
                        return
                await self._send_new()
                await asyncio.sleep(self.hidden_seconds if self.hidden else self.batch_seconds)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("run %s: the stream broke; the tab will reconnect", self.run_id)
            await self.hang_up(1011)

    async def _send_new(self) -> None:
        tokens, self.deltas = list(self.deltas.values()), {}
        sent = False
        while found := await database_sync_to_async(stream.frame)(self.run_id, self.cursor, self.wanted):
            self.cursor = found["to"]
            await self._say({**found, "tok": tokens})
            tokens, sent = [], True
        if tokens or not sent:
            await self._say({"v": 1, "run": self.run_id, "tok": tokens, "hb": int(time.time())})

    async def _say(self, message: dict[str, Any]) -> None:
        await self.send(text_data=json.dumps(message, separators=(",", ":"), ensure_ascii=False))
