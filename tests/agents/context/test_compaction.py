"""A conversation is kept inside of the window, and what it is about is kept in it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.context.compaction import COMPACT_AT, compact
from agents.llm.scripted import reply_name
from agents.llm.tokens import count_messages
from agents.prompts.provenance import as_turn
from tests.agents.context.prompts import again, head, repair
from tests.sizes import scaled

PINNED = ("description", "requirements", "note", "tests", "rules")
LOOSE = ("lessons", "existing", "avoid")


def reply(number, size=300):
    return as_turn("assistant", f"## Diagnosis\nCause: cause {number}\n\n```python path=a.py\n{'y = 1; ' * size}\n```")


def text_of(messages):
    return "\n".join(message["content"] for message in messages)


def test_below_three_quarters_nothing_is_touched():
    messages = [*head(tests="a"), reply(1), repair("E  one")]
    assert compact(messages, int(count_messages(messages) / COMPACT_AT) + 2) == (messages, 0)


def test_older_turns_become_a_summary_and_the_newest_stay():
    messages = [
        *head(tests="assert x"),
        reply(1),
        repair("E  one"),
        reply(2),
        repair("E  two"),
        reply(3),
        repair("E  three"),
    ]
    kept, saved = compact(messages, 2_500)
    assert saved == count_messages(messages) - count_messages(kept) > 0
    assert [message["role"] for message in kept] == ["system", "user", "assistant", "user"]
    assert kept[-2:] == messages[-2:]
    assert "- assistant: Cause: cause 1" in kept[1]["content"]
    assert "E  one" not in text_of([kept[0], *kept[2:]])


def test_the_newest_trace_stays_when_the_newest_message_is_about_something_else():
    messages = [*head(tests="t"), reply(1), repair("E  one"), reply(2), repair("E  newest"), reply(3), again()]
    kept, _ = compact(messages, 2_000)
    assert "E  newest" in text_of(kept)
    assert kept[-1] == messages[-1]


def test_the_files_go_when_a_summary_is_not_enough_and_the_tests_stay():
    messages = head(existing="old = 1\n" * 4_000, tests="assert new == 2\n" * 20, lessons="- a → b\n" * 300)
    kept, saved = compact(messages, 6_000)
    assert saved > 0
    assert count_messages(kept) <= 4_500
    assert "old = 1" not in text_of(kept)
    assert "assert new == 2\n" * 19 in text_of(kept)


def test_room_for_the_answer_is_kept():
    messages = [*head(tests="t", existing="old = 1\n" * 2_000), reply(1), repair("E  one")]
    kept, _ = compact(messages, 12_000, reply=8_000)
    assert count_messages(kept) <= 4_000


def test_what_was_shortened_grows_only_at_its_end_until_it_is_full_again():
    messages = [*head(tests="t")]
    earlier: list[str] = []
    fresh_starts = 0
    for number in range(12):
        messages += [reply(number, 120), repair(f"E  number {number}")]
        kept, _ = compact(messages, 4_000)
        assert count_messages(kept) <= 3_000
        now = [message["content"] for message in kept]
        fresh_starts += now[: len(earlier)] != earlier
        earlier = now
    assert 0 < fresh_starts < 8


def test_a_recording_still_finds_its_place():
    messages = [
        *head(tests="t", approach=2),
        reply(1),
        repair("E  one", said="mind the cents"),
        reply(2),
        repair("E  two"),
    ]
    kept, saved = compact(messages, 1_800)
    assert saved > 0
    assert reply_name(kept).startswith("T-01/coder-repair-a2")


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)
blocks = st.lists(words, min_size=1, max_size=30).map("\n".join).filter(str.strip)


@pytest.mark.slow
@settings(max_examples=scaled(60, 5))
@given(
    texts=st.fixed_dictionaries(dict.fromkeys((*PINNED, *LOOSE), blocks)),
    turns=st.lists(st.tuples(st.integers(0, 400), blocks, st.booleans(), st.booleans()), max_size=6),
    window=st.integers(600, 9_000),
)
def test_every_pinned_part_is_there_word_for_word_and_the_window_is_kept(texts, turns, window):
    texts["note"] = " ".join(texts["note"].replace("`", "").split()) or "note"
    texts["rules"] = texts["rules"].strip()
    messages = head(**texts)
    said, newest = [], ""
    for number, (size, trace, speaks, refused) in enumerate(turns):
        messages.append(reply(number, size))
        newest = trace
        said += [f"word {number}!"] if speaks else []
        messages.append(repair(trace, f"word {number}!" if speaks else ""))
        if refused:
            messages += [reply(number, size), again()]
    kept, saved = compact(messages, window)
    shown = text_of(kept)
    for name in PINNED:
        assert texts[name].rstrip() in shown, name
    for each in said:
        assert f"- {each}" in shown
    assert newest.rstrip() in shown
    limit = int(COMPACT_AT * window)
    pinned = sum(len(texts[name]) for name in PINNED) + len(newest) + 60 * len(said) + 4_500
    assert count_messages(kept) <= limit or count_messages(kept) < pinned
    assert saved == count_messages(messages) - count_messages(kept)
