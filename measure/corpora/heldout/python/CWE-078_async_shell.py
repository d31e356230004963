import asyncio

from aiohttp import web


async def whois(request):
    domain = request.match_info["domain"]
    process = await asyncio.create_subprocess_shell(f"whois {domain}", stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return web.Response(text=output.decode())
