from flask import Flask, jsonify, request

app = Flask(__name__)


@app.post("/calculate")
def calculate():
    formula = request.json["formula"]
    return jsonify(result=eval(formula, {"__builtins__": {}}, {"x": request.json["x"]}))
