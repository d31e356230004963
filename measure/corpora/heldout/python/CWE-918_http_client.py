import http.client

from flask import request


def availability():
    connection = http.client.HTTPConnection(request.args["host"], int(request.args["port"]), timeout=3)
    connection.request("GET", "/")
    return {"status": connection.getresponse().status}
