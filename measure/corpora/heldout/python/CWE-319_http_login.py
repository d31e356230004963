import requests


def token(user, password):
    answer = requests.post("http://auth.example.com/token", data={"user": user, "password": password}, timeout=5)
    return answer.json()["token"]
