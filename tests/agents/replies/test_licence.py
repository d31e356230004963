"""Licence headers, which no prompt shows and no answer takes away."""

import pytest

from agents.replies.apply import apply_reply
from agents.replies.licence import without_licence
from agents.replies.types import FileBlock, Reply

HASHES = "# Copyright 2020 The Shop\n#\n# Licensed under the Apache License.\n# See LICENSE.\n"
STARS = "/*\n * Copyright (c) 2020 The Shop\n * SPDX-License-Identifier: MIT\n */\n"
SLASHES = HASHES.replace("#", "//")
MARKUP = "<!--\n  Licensed under the MIT License.\n  Copyright The Shop\n-->\n"


@pytest.mark.parametrize("header", [HASHES, STARS, SLASHES, MARKUP])
def test_a_licence_header_is_left_out_and_put_back_when_the_file_is_written_whole(header):
    before = f"{header}\nx = 1\n"
    assert without_licence(before) == "x = 1\n"
    reply = Reply(files=[FileBlock("a.py", "x = 2\n")])
    assert apply_reply(reply, {"a.py": before}).files == {"a.py": f"{header}\nx = 2\n"}


def test_a_first_line_that_names_the_interpreter_stays_first():
    before = f"#!/bin/sh\n{HASHES}\necho 1\n"
    assert without_licence(before) == "#!/bin/sh\necho 1\n"
    reply = Reply(files=[FileBlock("run", "#!/bin/sh\necho 2\n")])
    assert apply_reply(reply, {"run": before}).files == {"run": f"#!/bin/sh\n{HASHES}\necho 2\n"}


def test_a_header_that_the_answer_brings_itself_is_not_written_twice():
    before = f"{HASHES}\nx = 1\n"
    for content in (f"{HASHES}\nx = 2\n", f"{HASHES.replace('2020', '2021')}\nx = 2\n"):
        assert apply_reply(Reply(files=[FileBlock("a.py", content)]), {"a.py": before}).files == {"a.py": content}


@pytest.mark.parametrize(
    "text", ["# What it does\n# and why\n# and when\nx = 1\n", "# SPDX-License-Identifier: MIT\nx = 1\n", "", "x"]
)
def test_other_comments_and_short_marks_are_shown(text):
    assert without_licence(text) == text


def test_line_ends_of_the_file_are_kept():
    before = f"{HASHES}\nx = 1\n".replace("\n", "\r\n")
    reply = Reply(files=[FileBlock("a.py", "x = 2\n")])
    assert apply_reply(reply, {"a.py": before}).files == {"a.py": f"{HASHES}\nx = 2\n".replace("\n", "\r\n")}
