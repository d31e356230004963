"""The reader that times the stream also proves it whole."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from measure.figures import CannotMeasure
from measure.performance.event_log import _listen
from tests.tables import each_row


class Client:
    """A socket that has these frames waiting."""

    def __init__(self, *frames: dict[str, Any]) -> None:
        self.frames = list(frames)

    async def recv(self) -> str:
        return json.dumps(self.frames.pop(0))


def frame(*seqs: int, **more: Any) -> dict[str, Any]:
    rows = "".join(f'<article id="e{seq}" data-seq="{seq}"></article>' for seq in seqs)
    return {"from": seqs[0], "to": seqs[-1], "rows": rows, **more}


def test_every_event_gets_the_moment_of_its_frame():
    moments = asyncio.run(_listen(Client({"tok": [], "hb": 1}, frame(1, 2), frame(3)), 3))
    assert sorted(moments) == [1, 2, 3]
    assert moments[1] == moments[2] <= moments[3]


@each_row(
    ("why", "frames"),
    [
        ("hole", (frame(1, 2), frame(4))),
        ("hole", (frame(1, 3),)),
        ("hole", (frame(2, 3),)),
        ("hole", (frame(1, 2), frame(2, 3))),
        ("behind", ({"from": 1, "to": 3000, "skip": True},)),
    ],
    ids=["a hole between frames", "a hole in one", "no beginning", "a repetition", "counts instead of rows"],
)
def test_rows_that_are_not_each_of_them_once_are_no_measurement(why: str, frames: tuple[dict[str, Any], ...]):
    with pytest.raises(CannotMeasure, match=why):
        asyncio.run(_listen(Client(*frames), 3000))
