"""The service answers."""

import httpx


def test_the_service_says_that_it_is_well(base_url: str) -> None:
    answer = httpx.get(f"{base_url}/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}
