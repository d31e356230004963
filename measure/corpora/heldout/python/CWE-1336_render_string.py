from flask import Flask, render_template_string, request

app = Flask(__name__)


@app.errorhandler(404)
def missing(error):
    return render_template_string("<p>Nothing at " + request.url + "</p>"), 404
