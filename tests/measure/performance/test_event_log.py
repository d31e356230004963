"""The reader that times the stream also proves it whole."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from measure.figures import CannotMeasure
from measure.performance.event_log import _listen


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


@pytest.mark.parametrize(
    "frames",
    [
        (frame(1, 2), frame(4)),  # a hole between frames
        (frame(1, 3),),  # a hole in a frame
        (frame(2, 3),),  # the beginning is missing
        (frame(1, 2), frame(2, 3)),  # a repetition
    ],
)
def test_a_hole_or_a_repetition_is_no_measurement(frames: tuple[dict[str, Any], ...]):
    with pytest.raises(CannotMeasure, match="hole"):
        asyncio.run(_listen(Client(*frames), 4))


def test_a_reader_that_was_sent_counts_instead_of_rows_is_no_measurement():
    with pytest.raises(CannotMeasure, match="behind"):
        asyncio.run(_listen(Client({"from": 1, "to": 3000, "skip": True}), 3000))
