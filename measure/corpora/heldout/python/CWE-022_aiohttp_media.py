from aiohttp import web

routes = web.RouteTableDef()


@routes.get("/media")
async def media(request: web.Request) -> web.StreamResponse:
    name = request.query["name"]
    return web.FileResponse("media/" + name)


app = web.Application()
app.add_routes(routes)
