import re


def mark(text: str, word: str) -> str:
    return re.sub(rf"\b{re.escape(word)}\b", lambda hit: hit.group().upper(), text)
