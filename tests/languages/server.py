"""A server for the requests of nodes: it prints its port, and answers with what it has received.

    server.py TOKEN
"""

import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = sys.argv[1]


class Handler(BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        authorization = self.headers.get("authorization")
        told = {
            "method": self.command,
            "path": self.path,
            "authorization": authorization,
            "is_authorized": authorization == f"Bearer {TOKEN}",
            "note": (self.headers.get("x-note") or "").encode("latin-1").decode(),
            "body": hashlib.sha256(body).hexdigest(),
        }
        written = json.dumps(told, ensure_ascii=False).encode()
        self.send_response(302 if self.path == "/moved" else 200)
        self.send_header("location", "/elsewhere")
        self.send_header("x-seen", "ä".encode().decode("latin-1"))
        self.send_header("content-length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
