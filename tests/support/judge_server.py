"""A server on loopback that speaks the protocol of chat completions, and misbehaves on order.

``python -m tests.support.judge_server`` runs it as a process of its own, which prints its address and has its count
at /count.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

Body = dict[str, Any]

FAULTS = ("429", "429-after", "500", "hang", "cut", "broken", "slow", "close", "refused", "types", "truncated")
"""What the server may do instead of answering; the last three are replies that hold no score."""


def user_message(body: Body) -> str:
    """What the user's first message of a request says."""
    return str(next(message["content"] for message in body["messages"] if message["role"] == "user"))


def drawn(text: str, most: int) -> int:
    """A number from 0 to below ``most`` that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % most


def grade(body: Body) -> str:
    """A reply with a score from 1 to 5 that depends on the question alone."""
    text = user_message(body)
    return json.dumps({"reason": f"because of {len(text)} characters", "score": 1 + drawn(text, 5)})


def completion(content: str | None, finish: str = "stop", refusal: str | None = None) -> Body:
    """A chat completion as the protocol has it."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


@dataclass
class Judge:
    """How the server answers, and what it saw.

    ``reply`` makes the text of an answer, or a whole body, or a status and a body.  ``faults`` are taken first, one a
    request (None is no fault); afterwards ``draw`` may name one.  ``delay`` is how long an answer takes.  Requests
    after the first ``limit`` wait until it is raised.
    """

    reply: Callable[[Body], Any] = grade
    faults: list[str | None] = field(default_factory=list)
    draw: Callable[[Body, int], str | None] = lambda body, seen: None
    delay: float = 0.0
    limit: float = math.inf
    keep: bool = True
    bodies: list[Body] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    count: int = 0
    under_way: int = 0
    most_under_way: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    url: str = ""

    @property
    def questions(self) -> list[str]:
        """The user's messages that arrived."""
        return [user_message(body) for body in self.bodies]


async def _request(reader: asyncio.StreamReader) -> tuple[str, str, bytes] | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    size = next((int(field[15:]) for field in head.split("\r\n") if field.lower().startswith("content-length:")), 0)
    return head.split(" ", 2)[1], head, await reader.readexactly(size)


def _response(status: int, body: bytes, more: str = "", size: int | None = None) -> bytes:
    length = len(body) if size is None else size
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n"
    return head.encode() + body


def _error(status: int, message: str, code: str | None = None, more: str = "") -> bytes:
    return _response(status, json.dumps({"error": {"message": message, "code": code}}).encode(), more)


class _Server:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._open: set[asyncio.Task[Any]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while (request := await _request(reader)) is not None:
                if not await self._answer(*request, writer=writer):
                    break
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def end(self) -> None:
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _answer(self, path: str, head: str, data: bytes, *, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection goes on."""
        judge = self._judge
        if path == "/count":
            writer.write(_response(200, str(judge.count).encode()))
            return True
        if not path.endswith("/chat/completions"):
            writer.write(_error(404, f"no such path: {path}"))
            return True
        body = json.loads(data)
        judge.count += 1
        if judge.keep:
            judge.bodies.append(body)
            judge.headers.append(head)
        judge.under_way += 1
        judge.most_under_way = max(judge.most_under_way, judge.under_way)
        try:
            number = judge.count
            while number > judge.limit:
                await asyncio.sleep(0.005)
            if judge.delay:
                await asyncio.sleep(judge.delay)
            key = user_message(body) if judge.keep else ""
            fault = judge.faults.pop(0) if judge.faults else judge.draw(body, judge.seen[key])
            judge.seen[key] += 1
            if fault is None:
                writer.write(self._reply(judge.reply(body)))
                return True
            return await self._misbehave(fault, body, writer)
        finally:
            judge.under_way -= 1

    @staticmethod
    def _reply(reply: Any) -> bytes:
        status, reply = reply if isinstance(reply, tuple) else (200, reply)
        return _response(status, json.dumps(completion(reply) if isinstance(reply, str) else reply).encode())

    async def _misbehave(self, fault: str, body: Body, writer: asyncio.StreamWriter) -> bool:
        good = json.dumps(completion(grade(body))).encode()
        if fault == "hang":
            await asyncio.sleep(60)
        elif fault == "cut":
            writer.write(_response(200, good[: len(good) // 2], size=len(good)))
        elif fault == "slow":
            writer.write(_response(200, b"", size=len(good)))
            for byte in good:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        elif fault != "close":
            writer.write(_FAULTY[fault](good))
            return True
        return False


_FAULTY: dict[str, Callable[[bytes], bytes]] = {
    "429": lambda good: _error(429, "slow down", "rate_limit_exceeded"),
    "429-after": lambda good: _error(429, "slow down", "rate_limit_exceeded", "Retry-After: 0.05\r\n"),
    "429-ms": lambda good: _error(429, "slow down", "rate_limit_exceeded", "retry-after-ms: 300\r\n"),
    "429-date": lambda good: _error(429, "slow down", None, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
    "quota": lambda good: _error(429, "you have no money left", "insufficient_quota"),
    "500": lambda good: _error(500, "out of order"),
    "401": lambda good: _error(401, "wrong key"),
    "404": lambda good: _error(404, "the model `nobody` does not exist", "model_not_found"),
    "400": lambda good: _error(400, "maximum context length is 10 tokens", "context_length_exceeded"),
    "filter": lambda good: _error(400, "filtered", "content_filter"),
    "format": lambda good: _error(400, "response_format of type json_schema is not supported"),
    "broken": lambda good: _response(200, good[:-9]),
    "list": lambda good: _response(200, b"[1, 2]"),
    "refused": lambda good: _response(200, json.dumps(completion(None, refusal="I cannot help with that")).encode()),
    "types": lambda good: _response(200, json.dumps(completion('{"score": "high", "reason": 7}')).encode()),
    "truncated": lambda good: _response(200, json.dumps(completion('{"reason": "it is', "length")).encode()),
}


OF_CLIENT = ("endpoint", "max_chars", "rpm", "tpm", "timeout", "tries", "pause", "max_reply_bytes", "prices")


def with_client(**settings: Any) -> dict[str, Any]:
    """Settings of a judge or a bot, with those of its client among them."""
    client = {name: settings.pop(name) for name in OF_CLIENT if name in settings}
    if "endpoint" in client and "base_url" in settings:
        client["base_url"] = settings.pop("base_url")
    return {**settings, "client": client}


def client_file(folder: Path, **settings: Any) -> Path:
    """A file of the settings of a client."""
    path = folder / f"client{len(list(folder.glob('client*.toml')))}.toml"
    path.write_text(tomli_w.dumps(settings))
    return path


@contextmanager
def judge_server(**options: Any) -> Iterator[Judge]:
    """A server on a thread of this process, stopped at the end."""
    judge = Judge(**options)
    started, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        server = _Server(judge)
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=1 << 25)
        judge.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        started.set()
        await stop.wait()
        listening.close()
        await server.end()
        await listening.wait_closed()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield judge
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


def shares(of: Sequence[str], share: float) -> Callable[[Body, int], str | None]:
    """A draw of faults: each of them at the first try of that share of the questions; no question has two."""

    def draw(body: Body, seen: int) -> str | None:
        place = drawn("fault" + user_message(body), 1000) / 1000
        return of[int(place / share)] if seen == 0 and place < share * len(of) else None

    return draw


def main() -> None:
    """Serve until the process is ended."""
    judge = Judge(keep=False)

    async def run() -> None:
        listening = await asyncio.start_server(_Server(judge).serve, "127.0.0.1", 0, limit=1 << 25)
        print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", flush=True)
        await listening.serve_forever()

    asyncio.run(run())


if __name__ == "__main__":
    main()
