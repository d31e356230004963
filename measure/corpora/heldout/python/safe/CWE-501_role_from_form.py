from flask import Flask, redirect, request, session

app = Flask(__name__)


@app.post("/register")
def register():
    user = create_user(request.form["email"], request.form["password"], role="member")
    session.clear()
    session["uid"] = user.id
    return redirect("/")
