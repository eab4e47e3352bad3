"""aiocoap asks a host for links, or answers on an interface; see aiocoap.rs beside it."""

import asyncio
import sys

from aiocoap import CONTENT, GET, Context, Message, Reliable, Unreliable, resource

ANSWERS = {
    "brski-jp=*": b"<>;brski-jp=57101",
    "rt=brski": b"<coaps://[2001:db8::52]:5684/b>;rt=brski",
    "rt=brski.rjp": b"<jpy://[2001:db8::52]:5685>;rt=brski.rjp",
}


class Core(resource.Resource):
    async def render_get(self, request):
        return Message(code=CONTENT, payload=ANSWERS[request.opt.uri_query[0]], content_format=40)


async def ask(address, query):
    context = await Context.create_client_context()
    for tuning in [Reliable, Unreliable]:
        message = Message(code=GET, uri=f"coap://{address}/.well-known/core?{query}", transport_tuning=tuning)
        try:
            # What is not confirmable may get no answer.
            answer = await asyncio.wait_for(context.request(message).response, 60 if tuning is Reliable else 2)
            print(answer.code.dotted, int(answer.opt.content_format), answer.payload.decode(), flush=True)
        except asyncio.TimeoutError:
            print("nothing", flush=True)
    await context.shutdown()


async def answer(interface):
    site = resource.Site()
    site.add_resource([".well-known", "core"], Core())
    context = await Context.create_server_context(site, bind=("::", 5683), multicast=[("ff02::fd", interface)])
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await context.shutdown()


asyncio.run({"ask": ask, "answer": answer}[sys.argv[1]](*sys.argv[2:]))
