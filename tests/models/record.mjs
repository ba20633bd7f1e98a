// Records what @copilotkit/aimock, a mock of the providers' servers, answers to the requests that graph-model encodes.
//
//     node record.mjs EXCHANGE OUT
//
// EXCHANGE is the built example `exchange` of graph-model; OUT is a folder. The conversation of conversation.json is held with each API,
// whole and streamed: each answer is decoded, and is part of the next request.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createInterface } from "node:readline";
import { LLMock } from "@copilotkit/aimock";

const [exchange, out] = process.argv.slice(2);
const script = JSON.parse(readFileSync(new URL("conversation.json", import.meta.url), "utf8"));

const child = spawn(exchange, { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
async function ask(command) {
    child.stdin.write(JSON.stringify(command) + "\n");
    const { value, done } = await lines.next();
    if (done) throw new Error("the example has ended");
    return JSON.parse(value);
}

// The connection ends in the midst of a cut answer, which is what has to be recorded.
function post(url, headers, text) {
    return new Promise((resolve, reject) => {
        const sent = request(url, { method: "POST", headers, agent: false }, (response) => {
            const chunks = [];
            const end = () => {
                const body = Buffer.concat(chunks).toString();
                resolve({ status: response.statusCode, headers: response.headers, body });
            };
            response.on("data", (chunk) => chunks.push(chunk)).on("end", end).on("error", end);
        });
        sent.on("error", reject).end(text);
    });
}

async function converse(mock, api, streamed) {
    const { model, extra } = script.models[api];
    const history = [];
    const exchanges = [];
    for (const turn of script.turns) {
        if (turn.finish && !turn.finish[api]) continue;
        if (turn.truncate_after_chunks !== undefined && !streamed) continue;
        const message = { role: "user", blocks: turn.user };
        const messages = [...history, message];
        const asked = { model: "m", system: script.system, messages, tools: script.tools, ...turn.request };
        const encoded = await ask({ encode: { api, request: asked, model, max_output: script.max_output, streamed, extra } });
        if (encoded.error) throw new Error(`${api}, ${turn.name}: ${encoded.error}`);
        const answer = turn.answer.error ? turn.answer : { finishReason: turn.finish?.[api], ...turn.answer, usage: script.usage[api] };
        mock.clearFixtures();
        mock.on({ predicate: () => true }, answer, { truncateAfterChunks: turn.truncate_after_chunks, chunkSize: 7, latency: streamed ? 1 : 0 });
        const sent = { ...encoded.headers, authorization: "Bearer none", "x-api-key": "none" };
        const response = await post(`${mock.url}/v1${encoded.path}`, sent, JSON.stringify(encoded.body));
        const { status, body } = response;
        const kept = Object.entries(response.headers).filter(([name]) => /^(content-type|retry-after.*)$/.test(name));
        const headers = Object.fromEntries(kept);
        exchanges.push({ turn: turn.name, request: encoded.body, status, headers, body });
        const decoded = await ask({ decode: { api, streamed, status, headers, body } });
        if (decoded.response) history.push(message, decoded.response.message);
        else if (!turn.answer.error && turn.truncate_after_chunks === undefined) {
            throw new Error(`${api}, ${turn.name}: ${decoded.error}\n${status} ${body}`);
        }
    }
    return exchanges;
}

const mock = new LLMock({ port: 0 });
await mock.start();
for (const api of Object.keys(script.models)) {
    for (const streamed of [false, true]) {
        const exchanges = await converse(mock, api, streamed);
        const name = `${api}${streamed ? "-streamed" : ""}.json`;
        const lines = exchanges.map((exchange) => JSON.stringify(exchange)).join(",\n");
        const about = `"api": "${api}", "streamed": ${streamed}`;
        writeFileSync(`${out}/${name}`, `{${about}, "exchanges": [\n${lines}\n]}\n`);
    }
}
await mock.stop();
child.stdin.end();
