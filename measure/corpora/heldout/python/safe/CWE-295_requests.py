import requests


def payment_status(reference: str) -> str:
    answer = requests.get("https://pay.example.com/status", params={"ref": reference}, timeout=10)
    return answer.json()["state"]
