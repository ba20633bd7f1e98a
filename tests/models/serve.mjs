// Starts two servers of @copilotkit/aimock, a mock of the providers' servers, and prints their ports as one line of JSON. They end with
// their standard input.
//
//     KEY=... node serve.mjs
//
// Both ask for the key. `scripted` answers with the fixtures that its control API is given. `obedient` answers any question that is JSON:
// {"input": I, "output": O, "errors": [STATUS, ...]}: first with each of these errors, then with a text, and says that it has used I tokens
// of the request and O tokens of the answer, or as many as the request allows.
import { LLMock } from "@copilotkit/aimock";

const options = { port: 0, journalMaxEntries: 0, logLevel: "warn", auth: { apiKeys: [process.env.KEY] } };

const asked = new Map();
function obey(request) {
    const text = request.messages.at(-1).content;
    const question = JSON.parse(typeof text === "string" ? text : text[0].text);
    const times = asked.get(question.id) ?? 0;
    asked.set(question.id, times + 1);
    if (times < question.errors.length) {
        return { error: { message: "Not now", type: "server_error" }, status: question.errors[times], retryAfter: 0 };
    }
    const most = request.max_completion_tokens ?? request.max_tokens;
    const [input, output] = [question.input, Math.min(question.output, most)];
    return {
        content: `answer ${question.id}`,
        finishReason: output < question.output ? "length" : undefined,
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, input_tokens: input, output_tokens: output },
    };
}

const scripted = new LLMock(options);
const obedient = new LLMock(options);
obedient.on({ predicate: () => true }, obey);
await Promise.all([scripted.start(), obedient.start()]);
console.log(JSON.stringify({ scripted: scripted.port, obedient: obedient.port }));
process.stdin.on("end", () => process.exit(0)).resume();
