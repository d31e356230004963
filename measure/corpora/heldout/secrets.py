"""Sham secrets where programs keep them, and what looks like one and is none: made from a seed at run time.

Nothing that a scanner of this repository could take for a secret is written here.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from measure.corpora.heldout.secret_kinds import GUID, KINDS, make

Dice = random.Random
PLACES = 6  # in how many placements each kind is tried


class Sham(NamedTuple):
    """One file with one sham secret in it; `kind` groups files for recall by kind."""

    kind: str
    path: str
    text: str


def secrets(seed: int = 1) -> Iterator[Sham]:
    """Every kind in several placements. The same seed gives the same files."""
    number = 0
    for kind in KINDS:
        dice = Dice(f"{seed}/{kind.name}")
        places = dice.sample(TELLING if kind.telling else NAMED, k=PLACES)
        for place in places:
            number += 1
            name, text = place(kind.variable, make(kind.pattern, dice))
            yield Sham(kind.name, f"s{number:04}/{name}", text)
    for kind_name, whole in WHOLE.items():
        dice = Dice(f"{seed}/{kind_name}")
        for _ in range(PLACES):
            number += 1
            name, text = whole(dice)
            yield Sham(kind_name, f"s{number:04}/{name}", text)


def kinds() -> list[str]:
    """The names of all kinds."""
    return [kind.name for kind in KINDS] + list(WHOLE)


Place = Callable[[str, str], tuple[str, str]]


def _python(name: str, value: str) -> tuple[str, str]:
    return "settings.py", f'"""Settings of the shop."""\n\nTIMEOUT = 30\n{name} = "{value}"\nRETRIES = 3\n'


def _dictionary(name: str, value: str) -> tuple[str, str]:
    return (
        "client.py",
        f'OPTIONS = {{\n    "region": "eu-west-1",\n    "{name.lower()}": "{value}",\n    "debug": False,\n}}\n',
    )


def _argument(name: str, value: str) -> tuple[str, str]:
    return "main.py", f"from shop import Client\n\nclient = Client({name.lower()}='{value}', timeout=5)\n"


def _yaml(name: str, value: str) -> tuple[str, str]:
    return "config.yaml", f'service:\n  replicas: 2\n  {name.lower()}: "{value}"\n  region: eu\n'


def _env(name: str, value: str) -> tuple[str, str]:
    return "deploy/.env", f"DEBUG=0\n{name}={value}\nPORT=8000\n"


def _json(name: str, value: str) -> tuple[str, str]:
    return "config.json", json.dumps({"port": 8000, name.lower(): value, "hosts": ["a", "b"]}, indent=2) + "\n"


def _javascript(name: str, value: str) -> tuple[str, str]:
    words = name.lower().split("_")
    camel = words[0] + "".join(word.title() for word in words[1:])
    return "config.js", f"export const port = 8000;\nexport const {camel} = '{value}';\n"


def _toml(name: str, value: str) -> tuple[str, str]:
    return "app.toml", f'[server]\nport = 8000\n\n[partner]\n{name.lower()} = "{value}"\n'


def _docker(name: str, value: str) -> tuple[str, str]:
    return "Dockerfile", f'FROM python:3.11-slim\nENV {name}="{value}"\nUSER app\nCMD ["python", "-m", "shop"]\n'


def _shell(name: str, value: str) -> tuple[str, str]:
    return "run.sh", f"#!/bin/sh\nset -eu\nexport {name}='{value}'\nexec python -m shop\n"


def _bearer(name: str, value: str) -> tuple[str, str]:
    return (
        "fetch.py",
        "import requests\n\nHEADERS = "
        f'{{"Authorization": "Bearer {value}"}}\nprint(requests.get("https://x.example", '
        "headers=HEADERS, timeout=5))\n",
    )


def _neutral(name: str, value: str) -> tuple[str, str]:
    return "try.py", f'from shop import send\n\nx = "{value}"\nsend(x)\n'


def _comment(name: str, value: str) -> tuple[str, str]:
    return "notes.py", f"# to try it by hand use {value}\nprint(1)\n"


def _list(name: str, value: str) -> tuple[str, str]:
    return "README.md", f"# Shop\n\nStart it with `{value}` and look at port 8000.\n"


NAMED: list[Place] = [_python, _dictionary, _argument, _yaml, _env, _json, _javascript, _toml, _docker, _shell]
TELLING: list[Place] = [*NAMED, _bearer, _neutral, _comment, _list]


def _pem(label: str, dice: Dice, lines: int = 12) -> str:
    body = "\n".join(make("{64:b}", dice) for _ in range(lines))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"  # put together here: no key is in this file


def _key_file(label: str, name: str) -> Callable[[Dice], tuple[str, str]]:
    def whole(dice: Dice) -> tuple[str, str]:
        key = _pem(label, dice)
        if dice.random() < 0.5:
            return name, key
        return "keys.py", f'KEY = """{key}"""\n'

    return whole


def _service_account(dice: Dice) -> tuple[str, str]:
    account = {
        "type": "service_account",
        "project_id": "shop",
        "private_key_id": make("{40:h}", dice),
        "private_key": _pem("PRIVATE KEY", dice),
        "client_email": "robot@shop.iam.gserviceaccount.com",
    }
    return "account.json", json.dumps(account, indent=2)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


WHOLE: dict[str, Callable[[Dice], tuple[str, str]]] = {
    "rsa private key": _key_file("RSA PRIVATE KEY", "id_rsa"),
    "openssh private key": _key_file("OPENSSH PRIVATE KEY", "id_ed25519"),
    "ec private key": _key_file("EC PRIVATE KEY", "ec.pem"),
    "pkcs8 private key": _key_file("PRIVATE KEY", "server.key"),
    "pgp private key": _key_file("PGP PRIVATE KEY BLOCK", "key.asc"),
    "google service account": _service_account,
    "basic authorisation header": lambda dice: (
        "call.py",
        f'HEADERS = {{"Authorization": "Basic {_b64("shop:" + make("{16:a}", dice))}"}}\n',
    ),
    "curl with user": lambda dice: (
        "load.sh",
        f"#!/bin/sh\ncurl -u shop:{make('{16:a}', dice)} https://x.example/in\n",
    ),
    "netrc": lambda dice: (".netrc", f"machine packages.shop.net\nlogin deploy\npassword {make('{18:a}', dice)}\n"),
    "npmrc token": lambda dice: (".npmrc", f"//registry.shop.net/:_authToken={make(GUID, dice)}\n"),
    "pypirc password": lambda dice: (
        ".pypirc",
        f"[shop]\nrepository = https://packages.shop.net/\nusername = deploy\npassword = {make('{20:a}', dice)}\n",
    ),
    "kubernetes secret": lambda dice: (
        "secret.yaml",
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: shop\ndata:\n  password: {_b64(make('{18:a}', dice))}\n",
    ),
    "docker registry login": lambda dice: (
        "config.json",
        json.dumps(
            {"auths": {"https://index.docker.io/v1/": {"auth": _b64("shop:" + make("{22:a}", dice))}}}, indent=1
        ),
    ),
    "wireguard key": lambda dice: (
        "wg0.conf",
        f"[Interface]\nAddress = 10.8.0.2/32\nPrivateKey = {make('{42:b}', dice)}8=\n",
    ),
    "odbc connection string": lambda dice: (
        "appsettings.json",
        json.dumps({"Default": f"Server=db.shop.net;Database=shop;User Id=sa;Password={make('{14:a}', dice)};"}),
    ),
    "java property": lambda dice: (
        "application.properties",
        f"server.port=8080\nspring.datasource.password={make('{16:a}', dice)}\n",
    ),
}
