from flask import Flask

app = Flask(__name__)


@app.errorhandler(Exception)
def on_error(error):
    app.logger.exception("a request failed")
    return {"error": "internal error"}, 500
