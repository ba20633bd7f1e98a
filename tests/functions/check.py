"""Calls the functions of the component that `run` has built, and compares what comes back. Its folder is the current one."""

import json
import subprocess

from steps import GRAPH_HOST, check, graph_host, write

ECHO = "me/types#acme:types/echo/echo-"
ENDS = "me/types#acme:types/ends/"
FUNCTIONS_IN_ALL = 35

# The component imports `wasi:random`, so each of its functions needs the grant.
RANDOM = {"random": True}

# Every value comes back as it was given.
VALUES = {
    "u8": [0, 255],
    "u16": [65535],
    "u32": [4294967295],
    "u64": [0, 2**53 + 1, 2**64 - 1],
    "s8": [-128, 127],
    "s16": [-32768],
    "s32": [-2147483648],
    "s64": [-(2**63), 2**63 - 1, -(2**53) - 1],
    "f32": [0.5, "NaN", "Infinity", "-Infinity", "-0", 3.4028234663852886e38],
    "f64": [0.1, 5e-324, "NaN", "-0", 1.7976931348623157e308],
    "bool": [True, False],
    "char": ["a", "ä", "😀", "\u0000", '"'],
    "string": ["", "null", "a\nb\u0000", "日本語"],
    "bytes": [[], [0, 255], list(range(256))],
    "texts": [[], ["", "a"]],
    "lists": [[[]], [[1], [], [2, 3]]],
    "record": [{"x": 0.5, "y": -1.5, "label": None}, {"x": "NaN", "y": 0, "label": "a"}],
    "tuple": [[1, "a", True]],
    "variant": ["empty", {"circle": 2.5}, {"polygon": [{"x": 1, "y": 2, "label": None}]}],
    "enum": ["red", "dark-blue"],
    "flags": [[], ["read", "run"], ["read", "write", "run"]],
    "option": [None, "", "null"],
    "nested": [None, {"some": None}, {"some": 7}],
    "result": [[{"ok": 1}, {"err": "no"}]],
    "units": [[{"ok": None}, {"ok": 1}, {"err": 2}], [{"err": None}, {"err": None}, {"ok": None}]],
}

# What a call fails with: category, a part of the message, details.
FAILURES = [
    (ENDS + "divide", {"a": 1, "b": 0}, "permanent", "1 cannot be divided by 0", None),
    (ENDS + "look", {"how": 1}, "permanent", "there is none", {"not-found": "there is none"}),
    (ENDS + "look", {"how": 2}, "rate-limited", 'it failed with {"rate-limited":30}', {"rate-limited": 30}),
    (ENDS + "look", {"how": 3}, "invalid-input", 'it failed with "invalid-input"', "invalid-input"),
    (ENDS + "look", {"how": 9}, "permanent", 'it failed with {"odd":9}', {"odd": 9}),
    (ENDS + "told", {}, "timeout", "it took too long", {"category": "timeout", "message": "it took too long", "code": 7}),
    (ENDS + "silent", {}, "permanent", "it failed and does not say why", None),
    (ENDS + "stop", {}, "internal", "unreachable", None),
    (ENDS + "spin", {}, "limit", "it used up its fuel", None),
    (ENDS + "large", {"bytes": 8_000_000}, "limit", "more", None),
    (ECHO + "u8", {"v": 256}, "invalid-input", "an integer from 0 to 255", None),
    (ECHO + "char", {"v": "ab"}, "invalid-input", "a text of one character", None),
    (ECHO + "record", {"v": {"x": 1}}, "invalid-input", "`y` is missing", None),
]


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
DESCRIBED = {"add": "Adds two numbers.", "acme:types/echo/echo-u8": "Gives back a byte."}
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
for kind, values in VALUES.items():
    for at, value in enumerate(values):
        key = f"{kind}-{at}"
        nodes[key] = {"action": {"item_id": ECHO + kind, "params": {"v": value}}, "assign": {key: "${result}"}}
        expected[key] = value
nodes["add"] = {"action": {"item_id": "me/types@1.2.0#add", "params": {"a": 1, "b": 2}}, "assign": {"add": "${result}"}}
nodes["nothing"] = {"action": {"item_id": ENDS + "nothing", "params": {}}, "assign": {"nothing": "${result}"}}
nodes["roll"] = {"action": {"item_id": "me/types#acme:types/chance/roll", "params": {}}, "assign": {"roll": "${result}"}}
expected |= {"add": 3, "nothing": None}
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
