// A server that components send requests to, in a process of its own: a native run blocks the one of the checks. It permits pages (CORS), and
// its answers have no field that differs between two requests.

import { fork } from "node:child_process";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

/** Starts it: its port, what it was sent under a path, and its end. */
export async function loopback() {
  const child = fork(fileURLToPath(import.meta.url), ["serve"]);
  const port = await new Promise((resolve) => child.once("message", resolve));
  const seen = async (path) => (await fetch(`http://127.0.0.1:${port}/seen?${encodeURIComponent(path)}`)).json();
  return { port, seen, close: () => child.kill() };
}

function serve() {
  const seen = [];
  const server = createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => answer(request, response, Buffer.concat(pieces).toString(), seen));
  });
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

function answer(request, response, body, seen) {
  const { pathname, search } = new URL(request.url, "http://localhost");
  response.sendDate = false;
  const fields = {
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "*, authorization",
    "access-control-allow-methods": "GET, POST, PUT",
    "access-control-expose-headers": "*",
  };
  // A page sees fields in the order of their names.
  const end = (status, text, more = {}) => {
    const all = Object.entries({ ...fields, "content-length": Buffer.byteLength(text ?? ""), ...more });
    response.writeHead(status, all.sort(([a], [b]) => (a < b ? -1 : 1)).flat()).end(text);
  };
  if (pathname === "/seen") return end(200, JSON.stringify(seen.filter(({ path }) => path === decodeURIComponent(search.slice(1)))));
  if (request.method === "OPTIONS") return end(204);
  seen.push({ path: pathname, method: request.method, headers: request.headers, body });
  switch (pathname) {
    case "/text":
      return end(200, "a text", { "content-type": "text/plain" });
    case "/echo":
      return end(200, `${request.method} ${search} ${request.headers["x-own"] ?? ""} ${body}`);
    case "/authorized":
      return end(200, `${request.headers.authorization ?? "nothing"} ${Buffer.from(request.headers.authorization ?? "").toString("base64")}`);
    case "/missing":
      return end(404, "none");
    case "/large":
      return end(200, "x".repeat(5 << 20));
    case "/redirect":
      return end(302, "", { location: "/text" });
    case "/never":
      return;
    case "/closed":
      response.socket.destroy();
      return;
    default:
      return end(200, "");
  }
}

if (process.argv[2] === "serve" && process.send) {
  process.on("disconnect", () => process.exit());
  serve();
}
