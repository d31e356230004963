from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def impersonate(request):
    request.session["user"] = request.query_params["user"]
    return PlainTextResponse("ok")


app = Starlette(routes=[Route("/impersonate", impersonate)])
