// A static file server with a strict Content-Security-Policy, without COOP and COEP.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, normalize } from "node:path";

const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm", json: "application/json", svg: "image/svg+xml" };
/** The policy of a bundle's own page, and what only a header can say. */
const policyOf = (folder) => `${/content="(default-src[^"]*)"/.exec(readFileSync(join(folder, "index.html"), "utf8"))?.[1]}; frame-ancestors 'none'`;

export async function serve(folder) {
  const policy = policyOf(folder);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const path = normalize(pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    try {
      const bytes = readFileSync(join(folder, path));
      response.writeHead(200, {
        "content-type": TYPES[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream",
        "content-security-policy": policy,
        "cache-control": "no-cache",
      });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "0.0.0.0", resolve));
  return { port: server.address().port, close: () => server.close() };
}
