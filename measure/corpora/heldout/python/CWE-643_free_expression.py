from aiohttp import web
from lxml import etree

FEED = etree.parse("feed.xml")


async def select(request):
    expression = request.query.get("path", "/feed/entry")
    return web.json_response([etree.tostring(node).decode() for node in FEED.xpath(expression)])
