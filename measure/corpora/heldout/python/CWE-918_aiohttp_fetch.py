import aiohttp
from aiohttp import web


async def fetch(request):
    data = await request.json()
    async with aiohttp.ClientSession() as session, session.get(data["feed"]) as answer:
        return web.Response(text=await answer.text())
