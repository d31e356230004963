import hashlib


def cache_key(*parts: str) -> str:
    return hashlib.md5("|".join(parts).encode(), usedforsecurity=False).hexdigest()
