"""What surrounds an answer: reasoning in any tag, the model's own channels, turns that it made up afterwards."""

from __future__ import annotations

import re

_FINAL = "<|channel|>final<|message|>"
_THOUGHTS = re.compile(
    r"\A\s*(?:<(?P<tag>thinking|thoughts?|reasoning|reflection|scratchpad|analysis|think)>|\[THINK\]|◁think▷)", re.I
)
_NEXT_TURN = re.compile(
    r"^(?:<\|im_start\|>[ \t]*(?:user|system|human)\b|<\|start_header_id\|>(?:user|system)<\|end_header_id\|>"
    r"|<start_of_turn>user\b"
    r"|<\|user\|>|\[INST\]|###[ ]?(?:Instruction|Human|User)\b:?[ \t]*$|(?:Human|User):[ ].*$)",
    re.M | re.I,
)
_SAID_AS = re.compile(r"^(?:Assistant|AI|###[ ]?(?:Response|Assistant)):?", re.M | re.I)
_FENCE = re.compile(r"^[ \t]{0,12}(?:`{3,}|~{3,})", re.M)
_GLUED = re.compile(
    r"^([^`\n]{0,400}\S)[ \t]+(`{3,}[A-Za-z0-9+]{0,20}[ \t]+(?:path|file|filename)=[^`\n]{1,400})$", re.M
)
_MAX_TURNS = 20
_TOKENS = re.compile(
    r"(?:\s*(?:<\|(?:im_end|endoftext|eot_id|end|end_of_text|eom_id|return|assistant|user)\|>|</s>|<end_of_turn>|<EOT>))+\s*\Z"
)
_TOKENS_BEFORE = re.compile(
    r"\A\s*(?:<\|im_start\|>\s*(?:assistant)?|<\|start_header_id\|>assistant<\|end_header_id\|>|<\|python_tag\|>|<s>)\s*"
)


def without_tokens(text: str) -> str:
    """The reply without the marks that a chat template should have kept to itself."""
    if "<" not in text:
        return text
    head, tail = text[:-400], text[-400:]
    return _TOKENS_BEFORE.sub("", head + _TOKENS.sub("\n", tail))


def answer_of(text: str) -> str:
    """The reply without what is no part of its answer; thoughts come out in `<think>` tags, whatever tags they had."""
    if _FINAL in text:
        text = re.sub(r"(?:<\|(?:return|end|call)\|>\s*)+\Z", "", text.rpartition(_FINAL)[2])
    text = _without_next_turn(_with_think_tags(text))
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > 2 and all(line.startswith(">") and not line.startswith(">>") for line in lines):
        text = "\n".join(line[1:].removeprefix(" ") for line in text.split("\n"))
    return _GLUED.sub(r"\1\n\2", text) if "```" in text else text


def _with_think_tags(text: str) -> str:
    opening = _THOUGHTS.match(text)
    if opening is None:
        return text
    ends = {"[": r"\[/THINK\]", "◁": "◁/think▷"}.get(opening[0].strip()[0], rf"</{opening['tag']}>")
    end = re.compile(ends, re.I).search(text, opening.end())
    if end is None:
        return text
    return f"<think>{text[opening.end() : end.start()]}</think>\n{text[end.end() :].lstrip()}"


def _without_next_turn(text: str) -> str:
    """Small models go on as the user, and then answer themselves: only what comes before is the answer."""
    for number, turn in enumerate(_NEXT_TURN.finditer(text)):
        if number == _MAX_TURNS:
            break
        before = text[: turn.start()]
        if not before.strip() or len(_FENCE.findall(before)) % 2:
            continue
        if turn[0][0] in "#HUhu" and not _SAID_AS.search(text, turn.end()):
            continue  # a heading or a line of a dialogue, not a turn
        return before
    return text
