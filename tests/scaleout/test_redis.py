"""Scaled out: what one process commits, a viewer in another is told about through Redis."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from channels_redis.pubsub import RedisPubSubChannelLayer

from tests.needs import missing
from tests.scaleout.servers import ROOT, redis

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

WRITER = """
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from projects.models import Project, Run
from projects.services.audit.notifications import announce_delta, flush
from tests.rows import emit
run = Run.objects.create(pk=42, project=Project.objects.create(name="p", slug="p"))
announce_delta(run.pk, lane="T-01 coder", id="x", offset=0, text="def ")
for number in range(25):
    emit(run.pk, "thought", summary=str(number))
assert flush(20)
"""


async def overhear(url: str, home: Path) -> list[dict[str, Any]]:
    """Messages of run 42 until the poke for its 25th event, while another process writes them."""
    layer = RedisPubSubChannelLayer(hosts=[url], prefix="aiswe")
    channel = await layer.new_channel()
    await layer.group_add("run.42", channel)
    environment = {
        **os.environ,
        "REDIS_URL": url,
        "AISWE_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "aiswe_site.settings",
    }
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, cwd=ROOT, env=environment, stderr=subprocess.PIPE
    )
    heard: list[dict[str, Any]] = []
    try:
        _out, error = await asyncio.wait_for(writer.communicate(), 60)
        assert writer.returncode == 0, error.decode()
        while not heard or heard[-1].get("seq") != 25:
            heard.append(await asyncio.wait_for(layer.receive(channel), 10))
    finally:
        if writer.returncode is None:
            writer.kill()
            await writer.wait()
        await layer.group_discard("run.42", channel)
        await layer.flush()
    return heard


def test_events_committed_in_one_process_poke_a_viewer_in_another(tmp_path):
    program = shutil.which("redis-server")
    if program is None:
        missing("redis-server is not installed (apt-get install redis-server)")
    with redis(program) as url:
        heard = asyncio.run(overhear(url, tmp_path))
    pokes = [message for message in heard if message["type"] == "run.poke"]
    assert pokes[-1] == {"type": "run.poke", "run": 42, "seq": 25}
    assert [poke["seq"] for poke in pokes] == sorted({poke["seq"] for poke in pokes})
    assert len(pokes) < 25  # a burst is one read of the rows, not one a row
    assert {"type": "run.delta", "run": 42, "lane": "T-01 coder", "id": "x", "offset": 0, "text": "def "} in heard
