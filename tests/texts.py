"""What stands in a text: a page, a prompt, a log."""


def shows(text: str, *words: str) -> None:
    """Each of these words stands in the text."""
    __tracebackhide__ = True
    absent = [one for one in words if one not in text]
    assert not absent, f"{absent} not in: {text}"
