"""The live stream, server to client only (static/js/stream.js). Commands travel by POST, with CSRF and rights."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl

from autobahn.exception import Disconnected
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.utils.crypto import constant_time_compare

from dashboard.access import gatekeeper, visibility
from dashboard.http.requests import number
from dashboard.live import feeds, stream
from projects.models import Run
from projects.services.audit.notifications import person_group

log = logging.getLogger(__name__)
NOT_SIGNED_IN, NOT_ALLOWED, TOO_MUCH, BROKEN = 4401, 4403, 4429, 4500

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
    if gatekeeper.lacks_factor(user) or not visibility.visible(Run, user).filter(pk=run_id).exists():
        return NOT_ALLOWED, 0
    return 0, user.pk


class RunConsumer(AsyncWebsocketConsumer):
    """One tab on one run: sent what its cursor lacks whenever the run's feed rings."""

    hidden_seconds = 0.25
    idle_seconds = 5.0  # between two signs of life
    recheck_seconds = 15.0  # for what rings no bell, like an account that is deactivated
    messages_per_minute = 120
    sockets_per_person = 40
    most_texts = 100  # that wait to be sent

    async def connect(self) -> None:
        """Accept the socket, or close it with a code that says why (a refused handshake cannot carry one)."""
        self.run_id = int(self.scope["url_route"]["kwargs"]["pk"])
        self.pump: asyncio.Task[None] | None = None
        self.wake = asyncio.Event()
        self.hidden = False
        self.feed: feeds.Feed | None = None
        self.texts: list[str] = []
        self.received: list[float] = []
        self.shut = self.counted = False
        self.checked, self.sent = time.monotonic(), float("-inf")
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
        _open[self.person] += 1
        self.counted = True
        await self.channel_layer.group_add(person_group(self.person), self.channel_name)
        # The feed first, then the first look: what is announced in between is not missed.
        self.feed = await feeds.join(self.run_id, self)
        self.wake.set()
        self.pump = asyncio.create_task(self._pump())

    async def disconnect(self, code: int) -> None:
        """Leave nothing running."""
        self.part()
        if self.counted:
            _open[self.person] -= 1
            if _open[self.person] <= 0:
                del _open[self.person]
            await self.channel_layer.group_discard(person_group(self.person), self.channel_name)
        if self.pump is not None:
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
        self.part()
        await self.close(code)

    async def permission(self) -> tuple[int, int]:
        """0 and who listens, or the code to close with."""
        session = self.scope.get("session")
        key = getattr(session, "session_key", None)
        return await database_sync_to_async(_permission)(key, self.run_id)

    def part(self) -> None:
        """Hear no more of the run."""
        if self.feed is not None:
            feeds.leave(self.feed, self)
            self.feed = None

    def ring(self, *texts: str) -> None:
        """The feed has something. A tab that does not take it misses words in the making, never rows."""
        self.texts += texts[: max(0, self.most_texts - len(self.texts))]
        self.wake.set()

    async def run_recheck(self, message: dict[str, Any]) -> None:
        """Something about this person's rights changed: look again before the next row."""
        self.checked = float("-inf")
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
                if self.hidden:
                    await asyncio.sleep(self.hidden_seconds)
        except asyncio.CancelledError:
            raise
        except Disconnected:
            self.part()  # the tab is gone; the server says so next
        except Exception:
            log.exception("run %s: the stream broke; the tab will reconnect", self.run_id)
            await self.hang_up(BROKEN)

    async def _send_new(self) -> None:
        texts, self.texts = self.texts, []
        for text in texts:
            await self.send(text_data=text)
        sent = bool(texts)
        while self.feed is not None and (found := await self.feed.after(self.cursor, self.wanted)):
            self.cursor, sent = found.to, True
            await self.send(text_data=found.text)
        now = time.monotonic()
        if not sent and now - self.sent < self.idle_seconds:
            return
        self.sent = now
        if not sent:
            await self.send(text_data=feeds.encode({"v": 1, "run": self.run_id, "hb": int(time.time())}))
