"""The API answers."""

import httpx


def test_the_api_says_that_it_is_well(base_url: str) -> None:
    answer = httpx.get(f"{base_url}/api/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}
