from flask import Flask, redirect, request

app = Flask(__name__)


@app.post("/language")
def set_language():
    response = redirect(request.headers.get("Referer", "/"))
    response.set_cookie("lang", request.form["lang"], secure=True, httponly=True, samesite="Lax")
    return response
