from flask import Flask, make_response, request

app = Flask(__name__)


@app.post("/login")
def login():
    sid = request.args.get("sid")
    SESSIONS[sid] = request.form["user"]
    response = make_response("welcome")
    response.set_cookie("sid", sid, secure=True, httponly=True, samesite="Strict")
    return response
