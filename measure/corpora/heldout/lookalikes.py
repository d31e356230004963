"""What looks like a secret and is none, and files with nothing at all: a scanner that reports these cries wolf."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

from measure.corpora.heldout.secret_kinds import GUID, make
from measure.corpora.heldout.secrets import Sham

Dice = random.Random
EACH = 6  # files a class
CLEAN = 2_000  # ordinary files at most
CLEAN_BYTES = 60_000  # size of one at most: the time goes into many files, not into large ones
_SUFFIXES = (".py", ".js", ".css", ".html", ".txt", ".md", ".toml", ".json", ".xml", ".sh", ".yaml")
_SKIP = {"test", "tests", "testing", "idle_test", "site-packages", "dist-packages", "__pycache__"}
_PACKAGES = ("django", "channels", "celery", "click", "jinja2", "rich", "requests", "httpx", "docker", "pytest")


def lookalikes(seed: int = 1) -> Iterator[Sham]:
    """Every class in several files; the same seed gives the same files."""
    number = 0
    for name, (file, build) in CLASSES.items():
        dice = Dice(f"{seed}/{name}")
        for _ in range(EACH):
            number += 1
            yield Sham(name, f"l{number:04}/{file}", build(dice))


def clean_files(seed: int = 1, most: int = CLEAN) -> list[Path]:
    """Files of Python's standard library and of well-known packages that are installed here, without their tests."""
    places = [Path(sysconfig.get_path("stdlib"))]
    places += [Path(sysconfig.get_path("purelib")) / package for package in _PACKAGES]
    found = [path for place in places for path in _files(place) if 0 < path.stat().st_size <= CLEAN_BYTES]
    found.sort()
    return found if len(found) <= most else sorted(Dice(seed).sample(found, most))


def _files(place: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name not in _SKIP]
        yield from (Path(folder, name) for name in names if name.endswith(_SUFFIXES))


def _hash(name: str, dice: Dice) -> str:
    return hashlib.new(name, dice.randbytes(16)).hexdigest()


def _b64(size: int, dice: Dice) -> str:
    return base64.b64encode(dice.randbytes(size)).decode()


def _guid(dice: Dice) -> str:
    return make(GUID, dice)


def _public(label: str, dice: Dice) -> str:
    body = "\n".join(make("{64:b}", dice) for _ in range(7))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


def _word(dice: Dice) -> str:
    return dice.choice(["user", "order", "invoice", "basket", "reader", "ticket", "session", "parcel"])


CLASSES: dict[str, tuple[str, Callable[[Dice], str]]] = {
    "uuid": ("fixtures.py", lambda d: f'ORDER_ID = "{_guid(d)}"\nUSER_ID = "{_guid(d)}"\n'),
    "uuid list": ("seed.json", lambda d: f'{{"ids": ["{_guid(d)}", "{_guid(d)}", "{_guid(d)}"]}}\n'),
    "md5 sum": ("sums.txt", lambda d: f"{_hash('md5', d)}  a.tar.gz\n{_hash('md5', d)}  b.tar.gz\n"),
    "sha1 commit": ("pins.py", lambda d: f'COMMIT = "{_hash("sha1", d)}"\nUPSTREAM_REV = "{_hash("sha1", d)}"\n'),
    "sha256 digest": ("check.py", lambda d: f'EXPECTED_SHA256 = "{_hash("sha256", d)}"\n'),
    "pip hashes": (
        "requirements.txt",
        lambda d: f"flask==3.0.0 \\\n    --hash=sha256:{_hash('sha256', d)} \\\n    "
            f"--hash=sha256:{_hash('sha256', d)}\n",
    ),
    "npm integrity": (
        "package-lock.json",
        lambda d: '{"lockfileVersion": 3, "packages": {"node_modules/a": {"version": "1.0.0", "resolved": '
        f'"https://registry.npmjs.org/a/-/a-1.0.0.tgz", "integrity": "sha512-{_b64(64, d)}"}}}}}}\n',
    ),
    "subresource integrity": (
        "page.html",
        lambda d: f'<script src="/a.js" integrity="sha384-{_b64(48, d)}" crossorigin="anonymous"></script>\n',
    ),
    "image digest": ("Dockerfile", lambda d: f"FROM python:3.11-slim@sha256:{_hash('sha256', d)}\nUSER app\n"),
    "action pin": (
        ".github/workflows/ci.yml",
        lambda d: "jobs:\n  t:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: "
            f"actions/checkout@{_hash('sha1', d)}\n",
    ),
    "image as data": (
        "logo.css",
        lambda d: f".logo {{ background: url(data:image/png;base64,iVBORw0KGgo{_b64(300, d)}); }}\n",
    ),
    "font as data": ("icons.css",
    lambda d: f'@font-face {{ src: url("data:font/woff2;base64,d09GMgAB{_b64(200, d)}") }}\n'),
    "colours": ("theme.css", lambda d: "".join(f".c{i} {{ color: #{make('{6:h}', d)}; }}\n" for i in range(20))),
    "minified script": (
        "app.min.js",
        lambda d: "!function(e,t){" + "".join("var "
            f"{make('{2:A}', d)}=e[{i}]||t.{make('{9:A}', d)};" for i in range(60)) + "}();\n",
    ),
    "placeholder": (
        ".env.example",
        lambda d: f"API_KEY={d.choice(['your-api-key-here', 'YOUR_API_KEY', '<your key>', 'xxxxxxxxxxxxxxxx', 'changeme'])}\nPORT=80\n",
    ),
    "placeholder in docs": (
        "README.md",
        lambda d: f'Set `{_word(d).upper()}_TOKEN="<paste your token>"` and '
            '`SECRET_KEY="replace-with-a-long-random-string"`.\n',
    ),
    "stars": ("log.txt", lambda d: f"connecting as {_word(d)} with password=********\ntoken: ****{make('{4:a}', d)}\n"),
    "environment look-up": (
        "settings.py",
        lambda d: f'import os\n\nSECRET_KEY = os.environ["SECRET_KEY"]\n{_word(d).upper()}_TOKEN = '
            f'os.getenv("{_word(d).upper()}_ACCESS_TOKEN", "")\n',
    ),
    "node environment": ("config.js", lambda d: f"export const apiKey = process.env.{_word(d).upper()}_API_KEY;\n"),
    "shell variable": ("up.sh",
    lambda d: f'#!/bin/sh\nexport {_word(d).upper()}_PASSWORD="${{DB_PASSWORD:?is not set}}"\n'),
    "compose variable": (
        "compose.yaml",
        lambda d: f"services:\n  {_word(d)}:\n    image: db\n    environment:\n      POSTGRES_PASSWORD: "
            f"${{POSTGRES_PASSWORD}}\n",
    ),
    "workflow secret": (
        ".github/workflows/release.yml",
        lambda d: f"env:\n  {_word(d).upper()}_TOKEN: ${{{{ secrets.{_word(d).upper()}_TOKEN }}}}\n",
    ),
    "helm value": ("values.yaml", lambda d: f'secretName: "{{{{ .Release.Name }}}}-{_word(d)}-credentials"\n'),
    "translations": (
        "de.json",
        lambda d: f'{{"password": "Passwort", "token": "Marke für {_word(d)}", "secret": "Geheimnis", "api_key": "Schlüssel"}}\n',
    ),
    "labels": (
        "forms.py",
        lambda d: f'PASSWORD_LABEL = "Enter your {_word(d)} password"\npassword_hint = "At least twelve characters"\n',
    ),
    "password input": (
        "login.html",
        lambda d: f'<input type="password" name="password" id="{_word(d)}-password" autocomplete="current-password">\n',
    ),
    "csrf field": ("form.html",
    lambda d: f'<input type="hidden" name="csrf_token" value="{{{{ csrf_token() }}}}" id="{_word(d)}">\n'),
    "test id": ("login.test.js", lambda d: f"screen.getByTestId('{_word(d)}-password-input-{make('{6:l}', d)}');\n"),
    "token by call": ("auth.py",
    lambda d: f"token = issue_token({_word(d)}, lifetime=3600)\npassword = getpass.getpass()\n"),
    "addresses": (
        "urls.py",
        lambda d: f'TOKEN_URL = "https://auth.example.com/{_word(d)}/oauth2/token"\nPASSWORD_RESET_PATH = '
            '"/account/password/reset/confirm"\n',
    ),
    "names of secrets": ("names.py",
    lambda d: f'SECRET_NAME = "prod/{_word(d)}/database"\nTOKEN_HEADER = "X-{_word(d).title()}-Token"\n'),
    "hashers": ("hashers.py",
    lambda d: 'PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]\nFIELD = '
        f'"{_word(d)}_password"\n'),
    "enumeration": ("tokens.py",
    lambda d: f'class Token:\n    IDENTIFIER = "identifier"\n    KEYWORD = "keyword"\n    NAME = "{_word(d)}"\n'),
    "public key": ("public.pem", lambda d: _public("PUBLIC KEY", d)),
    "certificate": ("ca.pem", lambda d: _public("CERTIFICATE", d)),
    "ssh public key": ("deploy.pub",
    lambda d: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{make('{43:b}', d)} deploy@{_word(d)}\n"),
    "known host": ("known_hosts", lambda d: f"git.example.com ssh-rsa AAAAB3NzaC1yc2E{make('{200:b}', d)}\n"),
    "documented example key": ("docs.md",
    lambda d: "Keys look like `AKIA" + f"IOSFODNN7EXAMPLE`, see the guide for {_word(d)}.\n"),
    "pattern of a key": ("patterns.py",
    lambda d: f'GITHUB = r"ghp_[A-Za-z0-9]{{36}}"\n{_word(d).upper()} = re.compile(r"sk_live_[0-9a-zA-Z]{{24,}}")\n'),
    "database address": (
        "README.md",
        lambda d: f"By default `postgresql://user:password@localhost:5432/{_word(d)}` is used.\n",
    ),
    "address without password": ("settings.toml", lambda d: f'database = "postgresql://{_word(d)}@db.example.com/{_word(d)}"\n'),
    "object ids": ("data.py",
    lambda d: f'IDS = ["{make("{24:h}", d)}", "{make("{24:h}", d)}"]\nULID = "01{make("{24:u}", d)}"\n'),
    "long names": ("names.js",
    lambda d: f"import {{ createAuthenticated{_word(d).title()}RepositoryFactoryProviderForTesting }} from './f';\n"),
    "test vector": ("test_hash.py",
    lambda d: f'def test_sha():\n    assert digest(b"{_word(d)}") == "{_hash("sha256", d)}"\n'),
    "words in base64": ("words.py",
    lambda d: f'GREETING = "{base64.b64encode(f"hello {_word(d)}, how are you today?".encode()).decode()}"\n'),
    "sequence": ("dna.txt", lambda d: ">seq1\n" + "".join(d.choice("ACGT") for _ in range(240)) + "\n"),
    "versions": ("versions.py",
    lambda d: f'VERSION = "{d.randint(1, 9)}.{d.randint(0, 20)}.{d.randint(0, 9)}+build.{make("{12:h}", d)}"\n'),
    "source map": ("app.js.map", lambda d: '{"version":3,"sources":["a.ts"],"mappings":"' + ";".join(make("{8:b}",
    d) for _ in range(60)) + '"}\n'),
    "cache key": ("cache.py",
    lambda d: f'CACHE_KEY = "{_word(d)}:list:v2"\nsort_key = "created_at"\nprimary_key = "{_word(d)}_id"\n'),
    "event ids": ("events.jsonl",
    lambda d: f'{{"trace_id": "{make("{32:h}", d)}", "span_id": "{make("{16:h}", d)}", "name": "{_word(d)}"}}\n'),
}  # fmt: skip
