import requests

API = "https://api.example.com"


def rates() -> dict[str, float]:
    answer = requests.get(f"{API}/rates", timeout=5)
    answer.raise_for_status()
    return answer.json()
