from aiohttp import web


async def jump(request):
    raise web.HTTPFound(location=request.rel_url.query["to"])


app = web.Application()
app.router.add_get("/jump", jump)
