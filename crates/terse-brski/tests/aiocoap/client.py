"""aiocoap as a client: prints a line for each response."""

import asyncio
import sys

from aiocoap import GET, NON, POST, Context, Message

base = f"coap://127.0.0.1:{sys.argv[1]}"


def body(length):
    return bytes(at % 251 for at in range(length))


def abbreviated(code, value, **options):
    message = Message(code=code, uri=base, **options)
    message.opt.uri_path_abbrev = value
    return message


def requests():
    yield "discovery", Message(code=GET, uri=base + "/.well-known/core?rt=brski*")
    yield "small", Message(code=POST, uri=base + "/b/vs", content_format=60, payload=b"\xa0")
    yield "block1", Message(code=POST, uri=base + "/.well-known/brski/rv", content_format=836, payload=body(5000))
    yield "block2", Message(code=GET, uri=base + "/e/crts", accept=62)
    yield "abbreviated", abbreviated(GET, 301, accept=62)
    yield "both", abbreviated(POST, 402, content_format=836, payload=body(3000))
    yield "unknown", abbreviated(GET, 9999)
    yield "missing", Message(code=GET, uri=base + "/missing")
    yield "method", Message(code=GET, uri=base + "/b/rv")
    yield "long", Message(code=POST, uri=base + "/b/rv", content_format=836, payload=body(20000))
    yield "separate", Message(code=POST, uri=base + "/b/es", content_format=60, payload=b"slow")
    yield "non", Message(code=POST, uri=base + "/b/vs", payload=b"non")


async def main():
    context = await Context.create_client_context()
    for name, message in requests():
        if name == "non":
            message.mtype = NON
        response = await asyncio.wait_for(context.request(message).response, 60)
        content_format = response.opt.content_format
        format_ = "-" if content_format is None else int(content_format)
        etag = "-" if response.opt.etag is None else response.opt.etag.hex()
        print(name, response.code.dotted, format_, etag, len(response.payload), response.payload.hex(), flush=True)
    await context.shutdown()


asyncio.run(main())
