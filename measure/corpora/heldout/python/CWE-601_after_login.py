from flask import Flask, redirect, request, session

app = Flask(__name__)


@app.route("/login", methods=["POST"])
def login():
    user = authenticate(request.form["email"], request.form["password"])
    if user is None:
        return redirect("/login?failed=1")
    session["uid"] = user.id
    return redirect(request.args.get("next") or "/")
