"""Issues tokens for docker-registry, which verifies them: `token_server.py PORT FOLDER`.

FOLDER has `key.pem` and `certificate.pem`. The user `someone` with the password in FOLDER/password, or with the identity
token in FOLDER/identity, may pull and push; nobody else may anything. What was asked for is appended to FOLDER/asked.
"""

import base64
import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import time
import urllib.parse
import uuid

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(service: str, scope: str) -> str:
    kind, name, actions = scope.rsplit(":", 2) if scope else ("", "", "")
    now = int(time.time())
    certificate = ssl.PEM_cert_to_DER_cert((folder / "certificate.pem").read_text())
    header = {"typ": "JWT", "alg": "RS256", "x5c": [base64.b64encode(certificate).decode()]}
    claims = {
        "iss": "tests",
        "sub": "someone",
        "aud": service,
        "exp": now + 300,
        "nbf": now - 10,
        "iat": now,
        "jti": str(uuid.uuid4()),
        "access": [{"type": kind, "name": name, "actions": actions.split(",")}] if kind else [],
    }
    signed = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
    sign = ["openssl", "dgst", "-sha256", "-sign", str(folder / "key.pem")]
    return f"{signed}.{encoded(subprocess.run(sign, input=signed.encode(), capture_output=True, check=True).stdout)}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urllib.parse.urlsplit(self.path)
        password = (folder / "password").read_text()
        expected = "Basic " + base64.b64encode(f"someone:{password}".encode()).decode()
        self.answer(urllib.parse.parse_qs(asked.query), self.headers.get("authorization") == expected)

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        known = form.get("refresh_token") == [(folder / "identity").read_text()]
        self.answer(form, known and form.get("grant_type") == ["refresh_token"])

    def answer(self, asked, is_known):
        service, scope = asked.get("service", [""])[0], asked.get("scope", [""])[0]
        with open(folder / "asked", "a") as file:
            file.write(f"{self.command} {scope} {is_known}\n")
        if is_known:
            status, answer = 200, {"token" if self.command == "GET" else "access_token": token(service, scope)}
        else:
            status, answer = 401, {"errors": [{"code": "UNAUTHORIZED", "message": "who are you?"}]}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
