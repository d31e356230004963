"""An export with its signature beside it: one archive, since a stream that grows would no longer fit a signature
fetched later.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from typing import IO

from projects.errors import BadInput
from projects.services.audit import exports, signing

IN_MEMORY = 4_000_000  # bytes; what is longer lies in a file without a name meanwhile


def signed_archive(lines: Iterable[str], name: str) -> IO[bytes]:
    """A zip with the file `name` and `name`.sig, read from its beginning. Raises BadInput when the key is unusable."""
    key = signing.private_key()
    made = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  the answer closes it when it is sent
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as text:
        for line in lines:
            text.write(line.encode())
        signature = exports.signature_of(text, key)
        text.seek(0)
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open(name, "w", force_zip64=True) as entry:
                shutil.copyfileobj(text, entry)
            archive.writestr(f"{name}.sig", signature)
    made.seek(0)
    return made


def key_name() -> str:
    """The fingerprint of the key that signs; "" when it cannot be used, which an export then says."""
    try:
        return signing.fingerprint(signing.private_key().public_key())
    except BadInput:
        return ""
