// A provider of language models: @copilotkit/aimock, a mock that others wrote, behind a relay that permits pages (CORS: the mock's wildcard
// does not cover `authorization`) and knows what was sent. It has a process of its own: a native run blocks the one of the checks.
//
// It does what the last message says, which is JSON: {"input": I, "output": O, "errors": [STATUS, ...], "hold": MS, "tell": true}: first it
// fails with each of these errors, then it answers, and says that it has used I tokens of the request and O tokens of the answer, or as many
// as the request allows; it waits so many milliseconds before that; it tells the key; with "calls": [{"id", "name", "arguments"}, ...] it calls these tools. What is
// no such JSON, as what tools have given, it just answers.

import { fork } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Starts it: its port, what it was sent since it was asked before, and its end. */
export async function provider(key) {
  const child = fork(fileURLToPath(import.meta.url), ["serve"], { env: { ...process.env, PROVIDER_KEY: key } });
  const port = await new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", () => reject(new Error("the provider of language models has ended")));
  });
  const seen = async () => (await fetch(`http://127.0.0.1:${port}/seen`)).json();
  return { port, seen, close: () => child.kill() };
}

/** The last message of a request of any of the three APIs. */
function questionOf(body) {
  const { content } = (body.messages ?? body.input).at(-1);
  try {
    return JSON.parse(typeof content === "string" ? content : content[0].text) ?? {};
  } catch {
    return {};
  }
}

function obey(asked, key) {
  return (request) => {
    const question = questionOf(request);
    const { input = 0, output = 0, errors = [], tell, calls } = question;
    const id = JSON.stringify(question);
    const times = (asked.get(id) ?? 0) % (errors.length + 1);
    asked.set(id, times + 1);
    if (errors[times]) return { error: { message: "Not now", type: "server_error" }, status: errors[times] };
    const most = request.max_completion_tokens ?? request.max_tokens ?? request.max_output_tokens ?? output;
    const used = Math.min(output, most);
    return {
      ...(calls && { toolCalls: calls }),
      content: tell ? `The key is ${key}, as you know.` : `answer of ${used} tokens`,
      finishReason: used < output ? "length" : undefined,
      usage: { prompt_tokens: input, completion_tokens: used, total_tokens: input + used, input_tokens: input, output_tokens: used },
    };
  };
}

const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*, authorization",
  "access-control-allow-methods": "POST",
  "access-control-expose-headers": "*",
};

/** Passes a request on. Only fields of the API reach the mock. */
async function relay(request, response, upstream, seen) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces).toString();
  if (request.url === "/seen") return response.end(JSON.stringify(seen.splice(0)));
  if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
  const { authorization, "x-api-key": key, "content-type": type, "anthropic-version": version } = request.headers;
  seen.push({ path: request.url, key: authorization ?? key, type, version, body });
  const { hold } = questionOf(JSON.parse(body));
  if (hold) await new Promise((resolve) => setTimeout(resolve, hold));
  const fields = Object.entries({ authorization, "x-api-key": key, "content-type": type, "anthropic-version": version });
  const given = await fetch(`${upstream}${request.url}`, { method: request.method, headers: fields.filter(([, value]) => value !== undefined), body });
  const bytes = Buffer.from(await given.arrayBuffer());
  return response.writeHead(given.status, { ...CORS, "content-type": given.headers.get("content-type"), "content-length": bytes.length }).end(bytes);
}

async function serve(key) {
  const { LLMock } = createRequire(join(process.cwd(), "package.json"))("@copilotkit/aimock");
  const mock = new LLMock({ port: 0, journalMaxEntries: 0, logLevel: "warn", auth: { apiKeys: [key] } });
  mock.on({ predicate: () => true }, obey(new Map(), key));
  await mock.start();
  const seen = [];
  const upstream = `http://127.0.0.1:${mock.port}`;
  const server = createServer((request, response) => void relay(request, response, upstream, seen).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

if (process.argv[2] === "serve" && process.send) {
  process.on("disconnect", () => process.exit());
  await serve(process.env.PROVIDER_KEY);
}
