"""aiocoap as a server: prints its port, and a line for each request; ends with its standard input."""

import asyncio
import socket
import sys

from aiocoap import CHANGED, CONTENT, SERVICE_UNAVAILABLE, Context, Message, resource


def body(length):
    return bytes(at % 251 for at in range(length))


class Certificates(resource.Resource):
    async def render_get(self, request):
        print("crts", request.opt.accept, flush=True)
        return Message(code=CONTENT, payload=body(3000), content_format=62, etag=b"tag")


class Vouchers(resource.Resource):
    async def render_post(self, request):
        print("rv", int(request.opt.content_format), len(request.payload), request.payload == body(len(request.payload)), flush=True)
        return Message(code=CHANGED, payload=request.payload[::-1], content_format=836)


class Slow(resource.Resource):
    async def render_post(self, request):
        print("es", len(request.payload), flush=True)
        await asyncio.sleep(0.5)
        return Message(code=CHANGED)


class Later(resource.Resource):
    async def render_post(self, request):
        print("sen", len(request.payload), flush=True)
        return Message(code=SERVICE_UNAVAILABLE, max_age=7)


async def main():
    site = resource.Site()
    site.add_resource([".well-known", "core"], resource.WKCResource(site.get_resources_as_linkheader))
    site.add_resource([".well-known", "est", "crts"], Certificates())
    site.add_resource([".well-known", "est", "sen"], Later())
    site.add_resource([".well-known", "brski", "rv"], Vouchers())
    site.add_resource([".well-known", "brski", "es"], Slow())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = await Context.create_server_context(site, bind=("127.0.0.1", port))
    print(port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await context.shutdown()


asyncio.run(main())
