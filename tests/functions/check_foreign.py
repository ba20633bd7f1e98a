"""Signs and calls a component that another toolchain has made, without and with documentation in it. `run` has built it; its folder is the
current one."""

import json

from steps import check, graph_host, write

COMPONENT = ".ai/tools/me/words.wasm"
WORDS = "me/words#acme:texts/words/"
NAMES = ["acme:texts/words/count", "acme:texts/words/longest", "acme:texts/words/number", "upper"]
CALLED = [
    ("me/words#upper", {"text": "grüße"}, "GRÜSSE"),
    (WORDS + "count", {"text": "a b a ä"}, [{"text": "a", "times": 2}, {"text": "b", "times": 1}, {"text": "ä", "times": 1}]),
    (WORDS + "count", {"text": ""}, []),
    (WORDS + "longest", {"texts": [None, "ab", "日本語"]}, "日本語"),
    (WORDS + "longest", {"texts": []}, None),
    (WORDS + "number", {"text": "2.5"}, 2.5),
    (WORDS + "number", {"text": "-Infinity"}, "-Infinity"),
]
FAILED = [("", "invalid-input", 'it failed with "invalid-input"'), ("x", "permanent", "x is no number")]
# The section `package-docs`, as `wit-parser` writes it for the WIT of the component.
DOCUMENTATION = {
    "worlds": {"library": {"func_exports": {"upper": {"docs": "A text in capital letters."}}}},
    "interfaces": {"words": {"funcs": {"count": {"docs": "The words of a text,\nand how often each occurs.\n\nMost frequent first."}}}},
}
DESCRIBED = {"upper": "A text in capital letters.", "acme:texts/words/count": "The words of a text, and how often each occurs."}


def leb(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def documented(component, documentation):
    name = b"package-docs"
    content = leb(len(name)) + name + b"\x01" + documentation
    return component + b"\0" + leb(len(content)) + content


def signed_and_inspected():
    signed = graph_host("sign", COMPONENT, "--key", "me", "--version", "1.0.0", "--json")
    inspected = json.loads(graph_host("inspect", COMPONENT, "--json").stdout)
    check(inspected["trusted"] and inspected["world"] == "functions", inspected)
    functions = {function["name"]: function for function in inspected["functions"]}
    check(set(NAMES) <= set(functions), sorted(functions))
    check(json.loads(signed.stdout)["functions"] == list(functions), signed.stdout)
    return signed, inspected, functions


def execute():
    nodes = {
        f"n{at}": {"action": {"item_id": item, "params": params}, "assign": {f"n{at}": "${result}"}}
        for at, (item, params, _) in enumerate(CALLED)
    }
    graph = write("words.json", {"tool_type": "graph", "config": {"start": sorted(nodes), "nodes": nodes}})
    with open("words-caps.yaml", "w", encoding="utf-8") as file:
        file.write(graph_host("caps", "suggest", graph).stdout)
    ended = json.loads(graph_host("run", graph, "--caps", "words-caps.yaml", "--json").stdout)
    given = [ended["output"][f"n{at}"] for at in range(len(CALLED))]
    check(given == [result for *_, result in CALLED], given)
    graph_host("replay", ended["run_id"])


with open(COMPONENT, "rb") as file:
    bare = file.read()
_, inspected, functions = signed_and_inspected()
check(all("summary" not in function and "description" not in function["params"] for function in functions.values()), functions)
check(inspected["undocumented"] is None, inspected)
execute()
for text, category, message in FAILED:
    nodes = {
        "f": {"action": {"item_id": WORDS + "number", "params": {"text": text}}, "on_error": "seen"},
        "seen": {"type": "return", "output": "${state._last_error}"},
    }
    graph = write("number.json", {"tool_type": "graph", "config": {"start": "f", "nodes": nodes}})
    failed = json.loads(graph_host("run", graph, "--caps", "words-caps.yaml", "--json").stdout)["output"]
    check(failed["category"] == category and message in failed["error"], failed)

with open(COMPONENT, "wb") as file:
    file.write(documented(bare, json.dumps(DOCUMENTATION).encode()))
_, inspected, functions = signed_and_inspected()
check(inspected["undocumented"] is None, inspected)
for name, function in functions.items():
    described = (function.get("summary"), function["params"].get("description"))
    check(described == (DESCRIBED.get(name),) * 2, f"{name}: {described}")
shown = graph_host("inspect", COMPONENT).stdout
check(all(text in shown for text in DESCRIBED.values()), shown)
execute()

for section, reason in [
    (b'{"worlds": {', "is not valid JSON"),
    (b'{"worlds": [1]}', "`worlds` is not an object"),
    (b'{"docs": "' + b"x" * (1 << 20) + b'"}', "at most 1048576 are read"),
]:
    with open(COMPONENT, "wb") as file:
        file.write(documented(bare, section))
    signed, inspected, functions = signed_and_inspected()
    check(reason in signed.stderr and reason in inspected["undocumented"], f"{reason}: {signed.stderr}")
    check(all("summary" not in function for function in functions.values()), functions)
    check(reason in graph_host("inspect", COMPONENT).stdout, reason)
execute()

print(f"{len(CALLED)} calls and {len(FAILED)} failures of a component in JavaScript; its documentation is read, and refused if it is damaged")
