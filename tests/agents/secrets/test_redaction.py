"""Nothing stored holds a secret, and nothing else changes."""

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.secrets import redaction
from agents.secrets.formats import find_known, formats
from agents.secrets.redaction import Redactor, Stream, redact, secrets_in
from tests.agents.gates import samples
from tests.agents.gates.secret_samples import sample
from tests.tables import each_row

SECRET = "S3cr3t!pass/wörd+1"
REDACTOR = Redactor({"DB password": SECRET})

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((key, shape(item)) for key, item in value.items())
    return [shape(item) for item in value] if isinstance(value, list) else type(value).__name__


@each_row("kind", [entry.kind for entry in formats()])
def test_each_known_kind_is_replaced_by_its_name(kind: str) -> None:
    text = sample(kind)
    ((start, end), *_) = [(start, end) for name, start, end in find_known(text) if name == kind]
    done = redact({"thought": f"it is {text} here"})["thought"]
    assert text[start:end] not in done
    assert "[redacted:" in done
    assert done.startswith("it is ") or text[0] in done
    assert done.endswith(" here")


@each_row(
    "form",
    [
        SECRET,
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"user:" + SECRET.encode() + b"@host").decode(),
        base64.b64encode(b"ab" + SECRET.encode()).decode(),
        base64.urlsafe_b64encode(b"?" + SECRET.encode() + b"??").decode(),
    ],
)
def test_a_configured_secret_is_replaced_in_every_form(form: str) -> None:
    done = REDACTOR.redact([f"before {form} after"])[0]
    assert "[redacted:db-password]" in done
    assert form not in done
    assert done.startswith("before ")
    assert done.endswith(" after")


def test_a_password_literal_is_replaced_and_its_code_stays() -> None:
    assert redact('password = "hunter2hunter"') == 'password = "[redacted:password-literal]"'
    assert redact('{"api_key": "abc123def456"}') == '{"api_key": "[redacted:password-literal]"}'
    assert redact({"password": "hunter2hunter", "user": "ada"}) == {"password": "[redacted:password]", "user": "ada"}


def test_a_private_key_is_replaced_whole() -> None:
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEabc\ndef\n-----END RSA " + "PRIVATE KEY-----"
    assert redact(f"a\n{key}\nb") == "a\n[redacted:private-key]\nb"


@each_row(
    "text",
    [
        samples.CLEAN_APP,
        samples.CLEAN_TESTS,
        samples.CLEAN_FUNCTIONS,
        samples.CLEAN_PAGE,
        "sha256:" + "0123456789abcdef" * 4,
        "password: str",
        'password = os.environ["X"]',
        "token usage: 1234",
        "https://host/a?b=c",
        "The password must have 12 characters.",
    ],
)
def test_ordinary_code_and_prose_stay(text: str) -> None:
    kept = text.replace('"Wrong-Passw0rd"', '"changeme"').replace('"correct horse battery"', '"changeme"')
    assert redact(kept) == kept


@given(json_values)
def test_the_shape_stays_and_twice_is_once(value: Any) -> None:
    done = REDACTOR.redact(value)
    assert shape(done) == shape(value)
    assert REDACTOR.redact(done) == done


@given(
    st.lists(
        st.sampled_from(
            [SECRET, 'password = "', '"', "abc123def", " ", "[redacted:x]", "gh" + "p_" + "a1B2" * 9, "://u:", "@h"]
        ),
        max_size=8,
    )
)
def test_twice_is_once_for_any_mixture(parts: list[str]) -> None:
    done = REDACTOR.redact("".join(parts))
    assert REDACTOR.redact(done) == done
    assert SECRET not in done


def test_keys_are_redacted_without_losing_items() -> None:
    done = REDACTOR.redact({SECRET: 1, "[redacted:db-password]": 2})
    assert len(done) == 2
    assert SECRET not in json.dumps(done, ensure_ascii=False)


def test_odd_values_never_raise() -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert "redacted" in json.dumps(redact(deep))
    assert redact(Odd()) == "[redacted:unreadable]"
    assert redact(("a", b"b")) == ["a", "b"]
    assert redact("\ud800") == "\ud800"
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert "redacted" in json.dumps(redact(loop))


def test_the_secrets_of_an_environment_are_found_by_name() -> None:
    environment = {
        "PATH": "/bin:/usr/bin",
        "DB_PASSWORD": "horse-battery",
        "API_KEY": "abcdefgh12",
        "TOKEN_LIMIT": "32000000",
        "SECRET": "x",
        "PWD": "/home/ada/work",
        "OLDPWD": "/home/ada/other",
        "TOKEN_FILE": "/run/secrets/token",
        "SSH_AUTH_SOCK": "/tmp/agent.1234",
    }
    assert set(secrets_in(environment)) == {"DB_PASSWORD", "API_KEY"}


def test_configured_secrets_are_used_by_the_one_choke_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_current", Redactor())
    redaction.configure({"key": "quite-private-value"})
    assert redact("a quite-private-value b") == "a [redacted:key] b"


TOKEN = sample("github-token")


@each_row(
    "text",
    [
        f'key = "{TOKEN[:9]}" + "{TOKEN[9:20]}" "{TOKEN[20:]}"',
        f"key = '{TOKEN[:9]}' \\\n    '{TOKEN[9:]}'",
        f"{TOKEN[:12]}\u200b{TOKEN[12:]}",
        base64.b64encode(f"token={TOKEN}".encode()).decode(),
        base64.b64encode(base64.b64encode(f"token={TOKEN}".encode())).decode(),
        base64.encodebytes(f"some words before it and then {TOKEN} and words behind it".encode()).decode(),
        TOKEN.encode().hex(),
        "".join(f"\\x{byte:02x}" for byte in TOKEN.encode()),
        quote(f"https://host/?a=b&t={TOKEN}", safe="").replace("_", "%5F"),
        json.dumps({"log": json.dumps({"t": TOKEN})}),
    ],
)
def test_a_known_secret_goes_in_pieces_and_encoded_too(text: str) -> None:
    done = redact(f"before {text} after")
    assert "[redacted:" in done
    assert done.startswith("before ")
    assert done.endswith(" after")
    assert TOKEN[9:20] not in done
    assert TOKEN[20:] not in done


@pytest.mark.parametrize(
    "form", [SECRET[::-1], f'"{SECRET[:7]}" + "{SECRET[7:]}"', base64.b32encode(SECRET.encode()).decode().rstrip("=")]
)
def test_a_configured_secret_goes_reversed_and_in_pieces(form: str) -> None:
    assert "[redacted:db-password]" in REDACTOR.redact(f"a {form} b")


def test_a_secret_that_only_its_name_gives_away_goes() -> None:
    value = "9f8a7b6c5d4e" + "3f2a1b0c9d8e"
    for line in (f"DATADOG_API_KEY={value}", f'{{"client_secret": "{value}"}}', f"<apiToken>{value}</apiToken>"):
        assert value not in redact(line)


@given(st.lists(st.integers(1, 30), max_size=12), st.booleans())
def test_a_stream_gives_out_no_secret_wherever_it_is_cut(cuts: list[int], own: bool) -> None:
    secret = SECRET if own else TOKEN
    text = f'First words, then key = "{secret}" and more of them.\nThe end'
    stream, shown, rest = Stream(REDACTOR), "", text
    for cut in cuts:
        shown, rest = shown + stream.feed(rest[:cut]), rest[cut:]
    shown += stream.feed(rest) + stream.end()
    assert secret not in shown
    assert "[redacted:" in shown
    assert shown.startswith("First words, then ")
    assert shown.endswith("The end")
    assert stream.sent == len(shown)


def test_a_stream_without_secrets_comes_out_as_it_went_in() -> None:
    stream = Stream(REDACTOR)
    assert "".join([*(stream.feed(c) for c in samples.CLEAN_FUNCTIONS), stream.end()]) == samples.CLEAN_FUNCTIONS
