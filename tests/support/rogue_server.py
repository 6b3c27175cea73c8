"""A server on loopback that misbehaves in one of many modes below the protocol of chat completions, and can recover.

``python -m tests.support.rogue_server`` runs it as a process of its own, which prints its address; ``GET /mode/NAME``
sets the mode, ``/rows/1,2`` the questions that it concerns, ``/mode/good`` ends it, and ``/paid`` returns the number of
good replies to each prompt.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import json
import re
import socket
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.support.judge_server import Body, completion, grade, user_message

MEGABYTE = 1 << 20
LONG = 200 * MEGABYTE

Reply = Callable[[Body, str], bytes]
"""The bytes of a response to a request with this body and key."""


def response(body: bytes, *headers: str, status: object = 200, length: bool = True) -> bytes:
    """A response; ``length`` adds its Content-Length."""
    lines = [f"HTTP/1.1 {status} X", *headers, *([f"Content-Length: {len(body)}"] if length else [])]
    if not any(line.lower().startswith("content-type") for line in headers):
        lines.append("Content-Type: application/json")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def good(body: Body) -> bytes:
    """The body of a reply with a score."""
    return json.dumps(completion(grade(body))).encode()


def refusal(message: str, status: int = 400, *headers: str) -> bytes:
    """An error as the protocol has it."""
    return response(json.dumps({"error": {"message": message}}).encode(), *headers, status=status)


def content(text: str) -> bytes:
    """A reply with this text."""
    return response(json.dumps(completion(text)).encode())


def message(fields: Body, **choice: object) -> bytes:
    """A reply whose message has these fields."""
    whole = completion(None)
    whole["choices"] = [{"message": {"role": "assistant", **fields}, "finish_reason": "stop", **choice}]
    return response(json.dumps(whole).encode())


def framed(text: str) -> bytes:
    """A reply with this JSON text as content, written literally."""
    return response(f'{{"choices": [{{"message": {{"role": "assistant", "content": {text}}}}}]}}'.encode())


TOOLS = [{"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}]
OTHER = "http://other-host.example:8080/v1"
STATUSES = (*range(200, 207), *range(300, 309), *range(400, 432), 451, *range(500, 512), 520, 529, 599, 999)

REPLIES: dict[str, Reply] = {
    **{f"status {code}": lambda body, key, code=code: refusal("no", code) for code in STATUSES},  # type: ignore[misc]
    **{
        f"{code} with a good reply": lambda body, key, code=code: response(good(body), status=code)  # type: ignore[misc]
        for code in (201, 299, 302, 418, 500)
    },
    "100 and 103 before a good reply": lambda body, key: (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + response(good(body))
    ),
    "101": lambda body, key: response(b"", "Upgrade: websocket", "Connection: Upgrade", status=101, length=False),
    "no HTTP": lambda body, key: b"SSH-2.0-OpenSSH_9.2\r\n" * 50,
    "HTTP 9": lambda body, key: response(good(body)).replace(b"HTTP/1.1", b"HTTP/9.9"),
    "status abc": lambda body, key: response(good(body), status="abc"),
    "closed at once": lambda body, key: b"",
    "closed after the headers": lambda body, key: response(b"", "Content-Length: 500", length=False),
    "length abc": lambda body, key: response(good(body), "Content-Length: abc", length=False),
    "length negative": lambda body, key: response(good(body), "Content-Length: -5", length=False),
    "length too large": lambda body, key: response(good(body), "Content-Length: 99999", length=False),
    "length too small": lambda body, key: response(good(body), "Content-Length: 9", length=False),
    "length of 30 digits": lambda body, key: response(good(body), f"Content-Length: {'9' * 30}", length=False),
    "two lengths": lambda body, key: response(good(body), "Content-Length: 5"),
    "length and chunks": lambda body, key: response(b"5\r\n{}   \r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
    "no length": lambda body, key: response(good(body), length=False),
    "chunk size xyz": lambda body, key: response(b"xyz\r\n{}\r\n", "Transfer-Encoding: chunked", length=False),
    "chunk cut": lambda body, key: response(b"500\r\n{", "Transfer-Encoding: chunked", length=False),
    "chunk of 2**70": lambda body, key: response(b"%x\r\n{" % 2**70, "Transfer-Encoding: chunked", length=False),
    "gzip": lambda body, key: response(gzip.compress(good(body)), "Content-Encoding: gzip"),
    "deflate": lambda body, key: response(zlib.compress(good(body)), "Content-Encoding: deflate"),
    "gzip cut": lambda body, key: response(gzip.compress(good(body))[:40], "Content-Encoding: gzip"),
    "gzip in name only": lambda body, key: response(good(body), "Content-Encoding: gzip"),
    "gzip bomb": lambda body, key: response(_bomb(), "Content-Encoding: gzip"),
    "gzip bomb in an error": lambda body, key: response(_bomb(), "Content-Encoding: gzip", status=500),
    "encoding br": lambda body, key: response(good(body), "Content-Encoding: br"),
    "encoding zstd": lambda body, key: response(good(body), "Content-Encoding: zstd, gzip"),
    "header of 100 kB": lambda body, key: response(good(body), f"X-Long: {'x' * 100_000}"),
    "10,000 headers": lambda body, key: response(good(body), *(f"X-{n}: {n}" for n in range(10_000))),
    "header with controls": lambda body, key: response(good(body), "X-Odd: a\x01\x1b[31m\x00b"),
    "header without colon": lambda body, key: response(good(body), "nonsense"),
    "cookies": lambda body, key: response(good(body), *(f"Set-Cookie: c{n}={'x' * 500}" for n in range(10))),
    **{
        f"redirect {code} to another host": lambda body, key, code=code: response(  # type: ignore[misc]
            b"", f"Location: {OTHER}/chat/completions", status=code
        )
        for code in (301, 302, 303, 307, 308)
    },
    "redirect with a user": lambda body, key: response(b"", "Location: http://me:pw@127.0.0.1:1/v1", status=307),
    "redirect to itself": lambda body, key: response(b"", "Location: /v1/chat/completions", status=307),
    "redirect to nowhere": lambda body, key: response(b"", "Location: http://[::bad", status=308),
    "redirect to a file": lambda body, key: response(b"", "Location: file:///etc/passwd", status=302),
    "redirect with a long body": lambda body, key: response(b"x" * LONG, f"Location: {OTHER}", status=307),
    "no UTF-8": lambda body, key: response(good(body)[:-1] + b', "x": "\xff\xfe\xc3"}'),
    "UTF-16": lambda body, key: response(good(body).decode().encode("utf-16")),
    "byte order mark": lambda body, key: response(b"\xef\xbb\xbf" + good(body)),
    "charset nonsense": lambda body, key: response(good(body), "Content-Type: application/json; charset=klingon"),
    "NUL in the body": lambda body, key: response(good(body).replace(b"}", b"\x00}")),
    "NUL in the text": lambda body, key: content('{"reason": "a\\u0000b", "score": 3}'),
    "half a pair": lambda body, key: framed('"\\ud800 {\\"score\\": 3, \\"reason\\": \\"\\ud83d\\"}"'),
    "half a pair in the reason": lambda body, key: content('{"reason": "\\ud800", "score": 3}'),
    "half a pair alone": lambda body, key: framed('"\\udfff"'),
    "half a pair in a refusal": lambda body, key: message({"content": None, "refusal": "\ud800 no"}),
    "half a pair in an error": lambda body, key: refusal("\ud800 no", 500),
    "escapes in an error": lambda body, key: refusal("\x1b[31mred\x1b]0;title\x07\x9b2J\x08 \u202e", 500),
    "deep list": lambda body, key: response(b"[" * 100_000),
    "deep object": lambda body, key: response(b'{"choices": ' + b'{"a": ' * 100_000),
    "deep text": lambda body, key: content('{"score": ' * 20_000),
    "duplicate keys": lambda body, key: response(b'{"choices": [], ' + good(body)[1:]),
    "NaN": lambda body, key: response(b'{"usage": {"prompt_tokens": NaN}, ' + good(body)[1:]),
    "score NaN": lambda body, key: content('{"score": NaN, "reason": "x"}'),
    "score infinite": lambda body, key: content('{"score": 1e999, "reason": "x"}'),
    "score of 5,000 digits": lambda body, key: content(f'{{"score": {"9" * 5000}}}'),
    "number of 5,000 digits": lambda body, key: response(b'{"created": ' + b"9" * 5000 + b", " + good(body)[1:]),
    "usage odd": lambda body, key: response(
        json.dumps({**json.loads(good(body)), "usage": {"prompt_tokens": -1, "completion_tokens": 10**30}}).encode()
    ),
    "usage a text": lambda body, key: response(json.dumps({**json.loads(good(body)), "usage": "much"}).encode()),
    "tool calls": lambda body, key: message({"content": None, "tool_calls": TOOLS}),
    "function call": lambda body, key: message({"content": None, "function_call": {"name": "f"}}),
    "tool calls odd": lambda body, key: message({"content": None, "tool_calls": [5, {"function": 7}]}),
    "no choices": lambda body, key: response(b"{}"),
    "empty choices": lambda body, key: response(b'{"choices": []}'),
    "choices null": lambda body, key: response(b'{"choices": null}'),
    "choices an object": lambda body, key: response(b'{"choices": {"0": {}}}'),
    "choices of numbers": lambda body, key: response(b'{"choices": [1, 2]}'),
    "content a number": lambda body, key: message({"content": 5}),
    "content of parts": lambda body, key: message({"content": [{"text": grade(body)}, 5, {"text": None}]}),
    "content empty": lambda body, key: content(" \n"),
    "finish a list": lambda body, key: message({"content": grade(body)}, finish_reason=["stop"]),
    "list": lambda body, key: response(b"[1, 2]"),
    "number": lambda body, key: response(b"5"),
    "nothing": lambda body, key: response(b""),
    "HTML": lambda body, key: response(b"<html>\x1b[31mlog in</html>", "Content-Type: text/html"),
    "HTML with an error": lambda body, key: response(
        b"<html>bad gateway</html>", "Content-Type: text/html", status=502
    ),
    "good as text/plain": lambda body, key: response(good(body), "Content-Type: text/plain"),
    "event stream": lambda body, key: response(b"data: {}\n\ndata: [DONE]\n\n", "Content-Type: text/event-stream"),
    "key": lambda body, key: content(json.dumps({"score": 3, "reason": f"your key is {key}"})),
    "key in an error": lambda body, key: refusal(f"wrong key {key}", 500),
    "key in an error that is no JSON": lambda body, key: response(f"<p>{key}".encode(), status=500),
    "key in a redirect": lambda body, key: response(b"", f"Location: http://{key}.example/{key}", status=307),
    "key in no JSON": lambda body, key: response(f"key {key}".encode()),
    "key in a refusal": lambda body, key: message({"content": None, "refusal": f"no, {key}"}),
    "error an odd object": lambda body, key: response(b'{"error": {"message": {"a": 1}, "code": [1]}}', status=400),
    "error a text": lambda body, key: response(b'{"error": "no"}', status=400),
    "error null": lambda body, key: response(b'{"error": null}', status=500),
    "about the format": lambda body, key: refusal("response_format is not supported", 400),
    "filter": lambda body, key: response(b'{"error": {"message": "x", "code": "content_filter"}}', status=400),
}
"""The modes that are a response."""

WAITS = {
    "a date long ago": "Wed, 21 Oct 2015 07:28:00 GMT",
    "no date": "Blursday, 99 Foo 20 25:61:00",
    "negative": "-5",
    "NaN": "nan",
    "text": "soon",
    "nothing": "",
    "a tenth": "0.1",
}
REPLIES |= {
    f"wait of {name}": lambda body, key, value=value: refusal("slow down", 429, f"Retry-After: {value}")  # type: ignore[misc]
    for name, value in WAITS.items()
}
REPLIES["wait in milliseconds"] = lambda body, key: refusal("slow down", 429, "retry-after-ms: 250")

LONG_WAITS = {
    "wait of three years": "Retry-After: 99999999",
    "wait until 9999": "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT",
    "wait for ever": "Retry-After: 1e999",
    "wait of years in milliseconds": "retry-after-ms: 99999999999",
}
"""The modes in which a run waits as long as it may; it must say so."""
REPLIES |= {
    name: lambda body, key, header=header: refusal("slow down", 429, header)  # type: ignore[misc]
    for name, header in LONG_WAITS.items()
}

STREAMED = ("200 MB", "200 MB in chunks", "200 MB error", "slow drip", "slow headers", "half-closed", "reset", "silent")
"""The modes that are more than one write."""

MODES = (*REPLIES, *STREAMED)


@functools.cache
def _bomb() -> bytes:
    """Gzip of 500 MB of zeros, in half a megabyte."""
    pack = zlib.compressobj(9, wbits=31)
    block = bytes(MEGABYTE)
    return b"".join([*(pack.compress(block) for _ in range(500)), pack.flush()])


@dataclass
class Rogue:
    """The server's mode, the prompts that it concerns (all by default), and the good replies to each prompt."""

    mode: str = "good"
    concerns: Callable[[str], bool] = lambda prompt: True
    url: str = ""
    count: int = 0
    paid: Counter[str] = field(default_factory=Counter)
    paths: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, RuntimeError, asyncio.CancelledError):
            while await self._answer(reader, writer):
                await writer.drain()
        with contextlib.suppress(ConnectionError, RuntimeError):
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ", 2)[1]
        self.paths.append(path)
        if path.startswith("/mode/"):
            self.mode = unquote(path.removeprefix("/mode/"))
            writer.write(response(b"{}"))
            return True
        if path.startswith("/rows/"):
            numbers = set(path.removeprefix("/rows/").replace("%2C", ",").split(","))
            self.concerns = lambda prompt: any(n in numbers for n in re.findall(r"question (\d+)[?]", prompt))
            writer.write(response(b"{}"))
            return True
        if path == "/paid":
            writer.write(response(json.dumps(self.paid).encode()))
            return True
        length = re.search(r"(?i)content-length: (\d+)", head)
        data = await reader.readexactly(int(length[1]) if length else 0)
        key = re.search(r"(?i)authorization: Bearer (\S+)", head)
        body = json.loads(data)
        self.count += 1
        if self.mode == "good" or not self.concerns(user_message(body)):
            self.paid[user_message(body)] += 1
            writer.write(response(good(body)))
            return True
        if self.mode in REPLIES:
            writer.write(REPLIES[self.mode](body, key[1] if key else ""))
            return self.mode not in ("closed at once", "chunk cut", "no length", "no HTTP", "deep list")
        await self._stream(body, writer)
        return False

    async def _stream(self, body: Body, writer: asyncio.StreamWriter) -> None:
        mode, whole = self.mode, response(good(body))
        sock: socket.socket = writer.get_extra_info("socket")
        if mode.startswith("200 MB"):
            chunked = mode.endswith("chunks")
            headers = ["Transfer-Encoding: chunked"] if chunked else [f"Content-Length: {LONG}"]
            writer.write(response(b"", *headers, status=500 if "error" in mode else 200, length=False))
            block = b"x" * MEGABYTE
            for _ in range(LONG // MEGABYTE):
                writer.write(b"%x\r\n%s\r\n" % (MEGABYTE, block) if chunked else block)
                await writer.drain()
        elif mode in ("slow drip", "slow headers"):
            start = whole.index(b"\r\n\r\n") + 4 if mode == "slow drip" else 0
            writer.write(whole[:start])
            for byte in whole[start:]:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        elif mode == "half-closed":
            writer.write(whole[:50])
            writer.write_eof()
            await asyncio.sleep(2)
        elif mode == "reset":
            writer.write(whole[: len(whole) // 2])
            await writer.drain()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            await asyncio.sleep(60)


@contextmanager
def rogue_server(mode: str, concerns: Callable[[str], bool] = lambda prompt: True) -> Iterator[Rogue]:
    """A server on a thread of this process, stopped at the end."""
    rogue = Rogue(mode, concerns)
    loop, started, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def run() -> None:
        listening = await asyncio.start_server(rogue.serve, "127.0.0.1", 0, limit=1 << 25)
        rogue.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        started.set()
        await stop.wait()
        listening.close()

    def serve() -> None:
        loop.run_until_complete(run())
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield rogue
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


def main() -> None:
    """Serve until the process is ended."""
    rogue = Rogue()

    async def run() -> None:
        listening = await asyncio.start_server(rogue.serve, "127.0.0.1", 0, limit=1 << 25)
        print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", flush=True)
        await listening.serve_forever()

    asyncio.run(run())


if __name__ == "__main__":
    main()
