import re

EMAIL = re.compile(r"^([a-zA-Z0-9]+)+@([a-zA-Z0-9]+)+\.com$")


def is_email(text):
    return bool(EMAIL.match(text))
