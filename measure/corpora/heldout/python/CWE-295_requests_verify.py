import requests


def payment_status(reference):
    answer = requests.get(f"https://pay.example.com/status/{reference}", verify=False, timeout=10)
    return answer.json()["state"]
