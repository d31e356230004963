from urllib.parse import urlsplit

from flask import Flask, redirect, request, session, url_for

app = Flask(__name__)


def safe_target(target):
    parts = urlsplit(target)
    return bool(target) and not parts.scheme and not parts.netloc and target.startswith("/") and "\\" not in target


@app.route("/login", methods=["POST"])
def login():
    user = authenticate(request.form["email"], request.form["password"])
    if user is None:
        return redirect(url_for("login", failed=1))
    session.clear()
    session["uid"] = user.id
    target = request.args.get("next")
    if not safe_target(target):
        target = url_for("home")
    return redirect(target)
