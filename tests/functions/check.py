"""Calls the functions of the component that `run` has built, and compares what comes back. Its folder is the current one."""

import json
import subprocess
import sys

from steps import GRAPH_HOST, check, graph_host, write

ENDS = "me/types#acme:types/ends/"
FUNCTIONS_IN_ALL = 44

# The component imports `wasi:random`, so each of its functions needs the grant.
RANDOM = {"random": True}

# Every value comes back as it was given: JSON texts by function. And what a call fails with: category, a part of the message, details.
with open(sys.argv[2], encoding="utf-8") as file:
    CALLS = json.load(file)
VALUES = {item: [json.loads(text) for text in texts] for item, texts in CALLS["values"].items()}
FAILURES = [("me/types#" + function, *failure) for function, *failure in CALLS["failures"]]


def graph(name, nodes, start):
    document = {
        "version": "1.0.0",
        "tool_type": "graph",
        "executor_id": "graph-host",
        "category": "tests",
        "description": "Calls functions.",
        "config": {"start": start, "nodes": nodes},
    }
    return write(name, document)


def run(graph_file, caps, *more, code=0):
    done = graph_host("run", graph_file, "--caps", caps, *more, "--json", code=code)
    return json.loads(done.stdout)


inspected = json.loads(graph_host("inspect", ".ai/tools/me/types.wasm", "--json").stdout)
names = {function["name"] for function in inspected["functions"]}
check(inspected["trusted"] and inspected["world"] == "functions", inspected)
check(len(names) == FUNCTIONS_IN_ALL, f"{len(names)} functions: {sorted(names)}")
shown = graph_host("inspect", ".ai/tools/me/types.wasm").stdout
check("me/types#acme:types/echo/echo-u8" in shown, shown)

# What the WIT of the crate says about its functions is in the component that `build` has made.
DESCRIBED = {
    "add": "Adds two numbers.",
    "acme:types/echo/echo-u8": "Gives back a byte.",
    "acme:types/forms/join": "So many parameters are passed in memory.",
    "acme:types/forms/look-again": "The type of its result has a name from elsewhere.",
}
for function in inspected["functions"]:
    described = (function.get("summary"), function["params"].get("description"))
    check(described == (DESCRIBED.get(function["name"]),) * 2, function)
check(all(text in shown for text in DESCRIBED.values()), shown)

# The functions that nodes cannot call are named with the reasons, of a component that is trusted by its statement, and when it is signed.
LEFT_OUT = {
    "acme:types/things/[constructor]counter": "it belongs to a resource",
    "acme:types/things/[method]counter.next": "it belongs to a resource",
    "acme:types/things/take": "its parameter `of` is or holds a resource",
}
signed = graph_host("sign", ".ai/tools/me/types.wasm", "--key", "me", "--version", "1.2.0", "--json")
statement = json.loads(signed.stdout)
check(set(statement["functions"]) == names, statement)
for document in (inspected, statement):
    left_out = {function["name"]: function["reason"] for function in document["uncallable"]}
    check(set(left_out) == set(LEFT_OUT), document)
    check(all(reason in left_out[name] for name, reason in LEFT_OUT.items()), left_out)
for name, reason in LEFT_OUT.items():
    check(f"warning: left out: `{name}` cannot be a node: {reason}" in signed.stderr, signed.stderr)
    check(f"`{name}` cannot be a node: {reason}" in shown, shown)

# Every value, in one graph, permitted function by function.
nodes, expected = {}, {}
for function, values in VALUES.items():
    for at, value in enumerate(values):
        key = f"{function.rsplit('/')[-1]}-{at}"
        nodes[key] = {"action": {"item_id": f"me/types#{function}", "params": {"v": value}}, "assign": {key: "${result}"}}
        expected[key] = value
nodes["add"] = {"action": {"item_id": "me/types@1.2.0#add", "params": {"a": 1, "b": 2}}, "assign": {"add": "${result}"}}
nodes["nothing"] = {"action": {"item_id": ENDS + "nothing", "params": {}}, "assign": {"nothing": "${result}"}}
joined = {"a": "a", "b": 1, "c": -2, "d": 0.5, "e": ["", "b"], "f": None, "g": [3, "c"], "h": True, "i": "d", "j": 1.5, "k": 2**64 - 1}
nodes["join"] = {"action": {"item_id": "me/types#acme:types/forms/join", "params": joined}, "assign": {"join": "${result}"}}
nodes["roll"] = {"action": {"item_id": "me/types#acme:types/chance/roll", "params": {}}, "assign": {"roll": "${result}"}}
expected |= {"add": 3, "nothing": None, "join": '"a" 1 -2 0.5 ["", "b"] None (3, "c") true \'d\' 1.5 18446744073709551615'}
everything = graph("every-value.yaml", nodes, sorted(nodes))
with open("caps.yaml", "w", encoding="utf-8") as file:
    file.write(graph_host("caps", "suggest", everything).stdout)
ended = run(everything, "caps.yaml")
state = ended["output"]
check(isinstance(state.pop("roll"), int), "no number was rolled")
wrong = {key: (value, state.get(key)) for key, value in expected.items() if state.get(key) != value or type(state.get(key)) is not type(value) and not isinstance(value, (int, float))}
check(not wrong and len(state) == len(expected), f"given and got: {wrong}")
check(graph_host("replay", ended["run_id"]).returncode == 0, "the replay differs")

# Every failure, as the node that handles it sees it.
permits = {"dispatch": ["execute.tool.me.types#" + item.split("#")[1] for item, *_ in FAILURES], "limits": {"fuel": 20_000_000}}
permits["items"] = {item: RANDOM for item, *_ in FAILURES}
handled = write("handled.json", permits)
for item, params, category, message, details in FAILURES:
    seen = {"category": "${result.category}", "message": "${result.message}", "details": "${result.details}"}
    nodes = {
        "f": {"action": {"item_id": item, "params": {name: "${inputs.params.%s}" % name for name in params}}, "on_error": "seen"},
        "seen": {"type": "return", "output": "${state._last_error}"},
    }
    one = graph("failure.yaml", nodes, "f")
    failed = run(one, handled, "--input", f"params={json.dumps(params)}")["output"]
    check(failed["category"] == category and message in failed["error"], f"{item} {params}: {failed}")

# What does not name the function permits none of it, and grants nothing to it.
one = graph("add.yaml", {"a": {"action": {"item_id": "me/types#add", "params": {"a": 1, "b": 2}}}}, "a")
for pattern in ["execute.tool.me.types", "execute.tool.*", "*", "execute.tool.me.types#acme:types/echo/echo-u8"]:
    run(one, write("denied.json", {"dispatch": [pattern], "items": {"me/types#add": RANDOM}}), code=4)
run(one, write("granted.json", {"dispatch": ["execute.tool.me.*#add"], "items": {"me/*#add": RANDOM}}))
roll = graph("roll.yaml", {"a": {"action": {"item_id": "me/types#acme:types/chance/roll", "params": {}}}}, "a")
permit = ["execute.tool.me.types#acme:types/chance/roll"]
run(roll, write("denied.json", {"dispatch": permit, "items": {"me/types": {"random": True}, "*": {"random": True}}}), code=4)
run(roll, write("granted.json", {"dispatch": permit, "items": {"me/types#acme:types/chance/roll": {"random": True}}}))

# What cannot be called is named before a run starts.
for function, reason in [
    ("acme:types/things/take", "a resource"),
    ("ad", "did you mean `add`?"),
    ("acme:types/echo/echo-u7", "did you mean"),
]:
    missing = graph("missing.yaml", {"a": {"action": {"item_id": f"me/types#{function}", "params": {}}}}, "a")
    caps = write("missing.json", {"dispatch": [f"execute.tool.me.types#{function}"], "items": {f"me/types#{function}": {"random": True}}})
    done = subprocess.run([GRAPH_HOST, "run", missing, "--caps", caps], capture_output=True, text=True)
    check(done.returncode != 0 and reason in done.stderr.replace("\n    ", " "), f"{function}: {done.stderr}")
action = graph("action.yaml", {"a": {"action": {"item_id": "me/types", "params": {}}}}, "a")
done = subprocess.run([GRAPH_HOST, "run", action, "--caps", write("action.json", {"dispatch": ["execute.tool.me.types"], "items": {"me/types": {"random": True}}})], capture_output=True, text=True)
check(done.returncode != 0 and "is no node action: name one of its functions" in done.stderr.replace("\n", " "), done.stderr)

print(f"{len(names)} functions, {len(expected)} values, {len(FAILURES)} failures: as given")
