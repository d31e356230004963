from flask import Flask, redirect, request

app = Flask(__name__)


def target_or_home():
    wanted = request.args.get("continue")
    if wanted:
        return wanted
    return "/home"


@app.get("/continue")
def resume():
    return redirect(target_or_home(), code=307)
