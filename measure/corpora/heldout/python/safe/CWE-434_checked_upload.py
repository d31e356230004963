import secrets
from pathlib import Path

from flask import Flask, abort, request

app = Flask(__name__)
FOLDER = Path("/srv/avatars")
app.config["MAX_CONTENT_LENGTH"] = 2_000_000


@app.post("/avatar")
def avatar():
    data = request.files["picture"].read()
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        abort(415)
    (FOLDER / f"{secrets.token_hex(16)}.png").write_bytes(data)
    return "", 201
