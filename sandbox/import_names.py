"""Which distribution brings a module, where the two names differ."""

from __future__ import annotations

import re
import sys

DISTRIBUTIONS = {
    "argon2": "argon2-cffi",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "decouple": "python-decouple",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "environ": "django-environ",
    "fitz": "pymupdf",
    "flask_cors": "flask-cors",
    "flask_login": "flask-login",
    "flask_sqlalchemy": "flask-sqlalchemy",
    "flask_wtf": "flask-wtf",
    "git": "gitpython",
    "github": "pygithub",
    "google.protobuf": "protobuf",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "Levenshtein": "levenshtein",
    "magic": "python-magic",
    "markdown": "markdown",
    "multipart": "python-multipart",
    "mysqldb": "mysqlclient",
    "MySQLdb": "mysqlclient",
    "nacl": "pynacl",
    "OpenSSL": "pyopenssl",
    "pil": "pillow",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pythonjsonlogger": "python-json-logger",
    "rest_framework": "djangorestframework",
    "ruamel.yaml": "ruamel.yaml",
    "serial": "pyserial",
    "six.moves": "six",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "snappy": "python-snappy",
    "socks": "pysocks",
    "telegram": "python-telegram-bot",
    "usb": "pyusb",
    "wx": "wxpython",
    "xdist": "pytest-xdist",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def distribution_for(module: str) -> str | None:
    """The distribution to ask for when `module` cannot be imported; None for the standard library or no module name.

    A name that is not in the table is its own distribution's name, in PyPI's spelling: the allow-list decides about it.
    """
    if not MODULE.fullmatch(module):
        return None
    parts = module.split(".")
    for size in (2, 1):
        known = DISTRIBUTIONS.get(".".join(parts[:size]))
        if known:
            return known
    top = parts[0]
    if top in sys.stdlib_module_names:
        return None
    return re.sub(r"[-_.]+", "-", top).lower().strip("-") or None
