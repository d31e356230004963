from bottle import redirect, request, route


@route("/track")
def track():
    record_click(request.query.campaign)
    redirect(request.query.url)
