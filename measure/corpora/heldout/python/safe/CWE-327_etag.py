import hashlib


def etag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
