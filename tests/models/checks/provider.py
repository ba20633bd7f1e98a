"""The provider of the checks: aimock, and relays before it that record every exchange and can break it.

What the host sends and gets is read from the bytes on the wire, so that it is known exactly, also where aimock's own journal has another
form of it.
"""

import contextlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import threading
import time
import urllib.request

PATIENCE = 60


class Exchange:
    """One request, and the answer as far as the host was sent it."""

    def __init__(self, head, body):
        line, *fields = head.decode("latin-1").split("\r\n")
        self.path = line.split()[1]
        self.fields = {name.strip().lower(): value.strip() for name, value in (field.split(":", 1) for field in fields if field)}
        self.raw = body
        self.body = json.loads(body)
        # The exchanges that had and had not ended when this one began.
        self.done, self.before = [], []
        self.answer = b""
        self.sent = 0
        self.is_held = threading.Event()
        self.ended = threading.Event()

    @property
    def most(self):
        """The most tokens of the answer, as sent."""
        return next(self.body[key] for key in ("max_completion_tokens", "max_tokens", "max_output_tokens") if key in self.body)

    @property
    def question(self):
        """The text of the last message."""
        last = self.body.get("messages", self.body.get("input"))[-1]["content"]
        return last if isinstance(last, str) else "".join(part.get("text", "") for part in last)

    @property
    def status(self):
        """The status of the answer; none if it is no answer of HTTP."""
        return int(self.answer.split(b" ", 2)[1]) if self.answer.startswith(b"HTTP/") else None

    @property
    def is_whole(self):
        """Whether the host was sent a whole answer."""
        return is_complete(self.answer) and self.sent == len(self.answer)

    def content(self):
        """The content of the answer."""
        head, _, rest = self.answer.partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" not in head.lower():
            return rest
        content = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            size = int(size or b"0", 16)
            content, rest = content + rest[:size], rest[size + 2 :]
        return content

    def usage(self):
        """The tokens of the request and of the answer that the provider counts, if it says so."""
        if self.status != 200:
            return None
        content = self.content().decode()
        if not content.startswith(("data:", "event:")):
            try:
                return tokens(json.loads(content).get("usage"))
            except (ValueError, RecursionError):
                return None
        found = {}
        for line in content.splitlines():
            if line.startswith("data:") and line != "data: [DONE]":
                event = json.loads(line[5:])
                for place in (event, event.get("message"), event.get("response")):
                    found.update((place or {}).get("usage") or {})
        return tokens(found)


def tokens(usage):
    if not usage:
        return None
    return usage.get("prompt_tokens", usage.get("input_tokens")), usage.get("completion_tokens", usage.get("output_tokens"))


class Relay:
    """Passes requests on to a port, and records them. A connection is kept for the next request, unless a fault has ended it.

    `faults` are taken by the requests in order: `{"cut": N}` closes the connection after N bytes of the answer, `{"reset": N}` resets it,
    `{"hold": event, "after": N}` waits for an event after N bytes, `{"answer": bytes}` answers instead of the provider, None does nothing.
    """

    def __init__(self, port):
        self.upstream = port
        self.lock = threading.Lock()
        self.exchanges = []
        self.faults = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def take(self):
        """The exchanges since the last call, and forgets the faults that were not used."""
        with self.lock:
            taken, self.exchanges, self.faults = self.exchanges, [], []
        for exchange in taken:
            assert exchange.ended.wait(PATIENCE), "an exchange does not end"
        return taken

    def wait_for(self, count):
        """Waits until so many requests have arrived."""
        until = time.monotonic() + PATIENCE
        while len(self.exchanges) < count:
            assert time.monotonic() < until, f"{len(self.exchanges)} requests have arrived, not {count}"
            time.sleep(0.005)

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        # The host may reset a connection that it does not need any more.
        with connection, contextlib.suppress(OSError):
            while self.serve_next(connection):
                pass

    def serve_next(self, connection):
        """Serves one request. Whether another one may follow."""
        received = b""
        while b"\r\n\r\n" not in received:
            more = connection.recv(65536)
            if not more:
                return False
            received += more
        head, _, body = received.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += connection.recv(65536)
        exchange = Exchange(head, body)
        with self.lock:
            exchange.before = [one for one in self.exchanges if not one.ended.is_set()]
            exchange.done = [one for one in self.exchanges if one.ended.is_set()]
            self.exchanges.append(exchange)
            fault = (self.faults.pop(0) if self.faults else None) or {}
        try:
            return self.exchange(connection, head, exchange, fault)
        except OSError:
            return False  # The host has closed its side.
        finally:
            exchange.ended.set()

    def exchange(self, connection, head, exchange, fault):
        """Passes a request and its answer on. Whether the connection stays open."""
        if "answer" in fault:
            exchange.answer = fault["answer"]
            exchange.sent = len(exchange.answer)
            connection.sendall(exchange.answer)
            return False
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"connection:", b"keep-alive:"))]
        with socket.create_connection(("127.0.0.1", self.upstream)) as upstream:
            upstream.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + exchange.raw)
            most = fault.get("cut", fault.get("reset"))
            if "hold" in fault:
                while not is_complete(exchange.answer):
                    exchange.answer += upstream.recv(65536)
                exchange.sent = fault["after"]
                connection.sendall(exchange.answer[: exchange.sent])
                exchange.is_held.set()
                assert fault["hold"].wait(PATIENCE), "an answer is held for ever"
                return False
            while not is_complete(exchange.answer) and (more := upstream.recv(65536)):
                exchange.answer += more
                rest = more if most is None else more[: max(0, most - exchange.sent)]
                if is_closed(connection):
                    return False
                connection.sendall(rest)
                exchange.sent += len(rest)
            if most is not None and most >= len(exchange.answer):
                raise AssertionError(f"an answer of {len(exchange.answer)} bytes cannot be cut after {most}")
        if "reset" in fault:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return most is None and is_complete(exchange.answer)


def is_complete(answer):
    """Whether an answer has come to its end: a server may keep a connection that nothing more is sent on."""
    head, end, content = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    if b"transfer-encoding: chunked" in head.lower():
        return content.endswith(b"0\r\n\r\n")
    length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return len(content) >= int(length[0].split(b":")[1]) if length else False


def is_closed(connection):
    """Whether the host has closed its side."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False


class Provider:
    """Two servers of aimock, each behind a relay: one answers what it is told, the other what the question says."""

    def __init__(self, folder, key):
        self.key = key
        serve = pathlib.Path(folder) / "serve.mjs"
        self.process = subprocess.Popen(
            ["node", str(serve)], env={**os.environ, "KEY": key}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        ports = json.loads(self.process.stdout.readline())
        self.scripted, self.obedient = Relay(ports["scripted"]), Relay(ports["obedient"])
        self.control = f"http://127.0.0.1:{ports['scripted']}/__aimock"

    def ask(self, method, path, document=None):
        data = None if document is None else json.dumps(document).encode()
        fields = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self.control + path, data, fields, method=method)) as answer:
            return json.load(answer)

    def script(self, *fixtures):
        """Forgets everything, and answers with these fixtures."""
        self.ask("POST", "/reset", {})
        self.ask("POST", "/fixtures", {"fixtures": list(fixtures)})
        self.scripted.take()

    def in_order(self, *answers):
        """Answers to the first request with the first of these fixtures without a `match`, and so on; to all later ones with the last."""
        last = len(answers) - 1
        fixtures = [{"match": {} if index == last else {"sequenceIndex": index}, **answer} for index, answer in enumerate(answers)]
        self.script(*fixtures)

    def journal(self):
        """The requests that aimock itself has recorded."""
        return [entry for entry in self.ask("GET", "/journal") if entry["path"].startswith("/v1/")]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
