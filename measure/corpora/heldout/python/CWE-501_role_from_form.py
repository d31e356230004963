from flask import Flask, redirect, request, session

app = Flask(__name__)


@app.post("/register")
def register():
    create_user(request.form["email"], request.form["password"])
    session["email"] = request.form["email"]
    session["role"] = request.form.get("role", "member")
    return redirect("/")
