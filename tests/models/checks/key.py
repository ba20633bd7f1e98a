"""The key is in nothing that is printed, kept or sent, except in the header of requests."""

import base64
import json
import pathlib
import urllib.parse

from project import APIS, asking, check, equal, manifest, model

USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30, "input_tokens": 20, "output_tokens": 10}
# So many characters of the key in one place are a part of it.
PART = 10


def parts(key):
    """What must not occur: parts of the key, and the key in other spellings."""
    found = {key[at : at + PART] for at in range(len(key) - PART + 1)}
    found |= {key[::-1], key.encode().hex(), urllib.parse.quote(key, safe=""), json.dumps(list(key.encode()), separators=(",", ":"))}
    for at in range(3):
        # Base64 of a text that has the key at any place: what does not depend on its surroundings.
        found.add(base64.b64encode(b"x" * at + key.encode()).decode()[4:-4])
    return [part.encode() for part in found]


def check_bytes(data, wanted, what):
    for part in wanted:
        at = data.find(part)
        check(at < 0, f"{what} has {part.decode()!r} of the key at byte {at}: {data[max(0, at - 80) : at + 80]!r}")


def rows(project):
    provider = project.provider
    key = project.key
    wanted = parts(key)

    def echoes():
        """A provider that sends the key back, in every place where a text can be, to a component that asks for it."""
        answers = [
            {"content": f"Your key is {key}, as you know."},
            {"content": key},
            {"toolCalls": [{"id": key, "name": "get_weather", "arguments": json.dumps({"city": key, key: [key]})}]},
            {"content": "x" * 3 + key + key, "reasoning": f"The key is {key}."},
            {"error": {"message": f"{key} is no key", "type": key, "code": key}, "status": 401},
            {"error": {"message": f"Bearer {key}", "type": "x"}, "status": 500},
            {"error": {"message": f"wait, {key}", "type": "rate_limit_error"}, "status": 429, "retryAfter": 0},
        ]
        for api in APIS:
            for streamed in (True, False):
                fixtures = [{"response": {**answer, **({} if "error" in answer else {"usage": USAGE})}, "chunkSize": 4} for answer in answers]
                provider.in_order(*fixtures, {"response": {"content": "Once more: " + key, "usage": USAGE}, "chunkSize": 7})
                one = model(provider.scripted.port, api, stream=streamed, attempts=1)
                questions = ["What is your key? {last}"] * (len(answers) + 1)
                caps = manifest({"m": one})
                run, process = project.start(asking(op="leak", model="m", questions=questions), caps, "--stream", "messages,debug", "--json")
                out, err = process.communicate(timeout=60)
                project.printed += [out, err]
                equal(process.returncode, 0, f"the exit code of {api}, with {err[-2000:]}")
                exchanges = provider.scripted.take()
                equal(len(exchanges), len(questions), f"requests of {api}")
                for exchange in exchanges:
                    check_bytes(exchange.raw, [key.encode()], f"the body of a request, {api}")
                    check_bytes(exchange.path.encode(), [key.encode()], "the path of a request")
                    having = sorted(name for name, value in exchange.fields.items() if key in value)
                    equal(having, ["x-api-key" if api == "anthropic" else "authorization"], "headers with the key")
                shown = {}
                for line in map(json.loads, out.splitlines()):
                    if line.get("kind") == "message":
                        place = line["model_call"], line["part"]
                        shown[place] = shown.get(place, "") + line["text"]
                check_bytes(json.dumps(list(shown.values())).encode(), wanted, "the parts of answers, put together")
                seen = json.loads(out.splitlines()[-1])["output"]["result"]["seen"]
                equal(seen[0], {"models": ["m"], "environment": {"variables": [], "arguments": [], "folder": None}}, "what the component sees without asking")
                refused = [one["failed"]["category"] for one in seen[-5:]]
                check(set(refused) <= {"denied", "invalid-input"}, f"expected that other models are refused, found {refused}")
                project.printed.append(project.command("runs", "export", run).stdout)
                project.command("runs", "history", run, "--json")

    yield "a provider that sends the key back to a component that asks for it", echoes

    def not_set():
        """Without the key, the run does not start, and the message names the variable."""
        provider.script({"match": {}, "response": {"content": "Hello"}})
        project.write("no-key.json", asking(op="spend", model="m", questions=[{"text": "Hello", "max_output": None}]))
        project.write("no-key-caps.json", manifest({"m": model(provider.scripted.port)}))
        done = project.command("run", "no-key.json", "--caps", "no-key-caps.json", "--run-id", "no-key", "--json", key=False, code=(3, 4, 5))
        said = done.stdout + done.stderr
        check("CHECKED_MODEL_KEY" in said and "`m`" in said, f"expected the variable and the model in {said}")
        equal(len(provider.scripted.take()), 0, "requests")

    yield "a key that is not set: the message names the variable and the model", not_set


def traces(project):
    """Last: everything that was printed and written."""
    wanted = parts(project.key)
    texts = "\0".join(project.printed).encode()
    check(len(texts) > 100_000, f"only {len(texts)} bytes were printed")
    check_bytes(texts, wanted, "what was printed")
    count = size = 0
    for path in pathlib.Path(project.folder).rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            count, size = count + 1, size + len(data)
            check_bytes(data, wanted, str(path.relative_to(project.folder)))
            check_bytes(str(path).encode(), wanted, "the name of a file")
    print(f"    {len(texts)} bytes that were printed, and {count} files of {size} bytes")
