from flask import Flask, g, request, session

app = Flask(__name__)


@app.before_request
def remember_user():
    forwarded = request.headers.get("X-User")
    if forwarded:
        session["user"] = forwarded
    g.user = session.get("user")
