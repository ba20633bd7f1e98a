"""Runs graphs in the walker component and compares every digest with native code, then checks the rest of its interfaces.

    check.py COMPONENT VECTORS REPOSITORY [GRAPH_HOST]
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from drive import KEY, Driver, again, report_of_seed
from walker import Problem, Walker

INPUTS = {
    "n": 3, "big": 2**64 - 1, "small": -(2**63), "part": 0.1, "large": 1e300, "text": "straße \U0001f980",
    "items": [1, 2.5, "three", None, {"id": "four", "a": {"b": [True]}}], "files": ["a", "b"],
}
EVERYTHING = {"name": "caps.yaml", "folder": "/", "text": 'dispatch: ["*"]'}
NOW = 1_767_225_600_000


def setup(text, **fields):
    graph = {"name": "graph.yaml", "id": "t/graph", "text": text}
    return {"version": 1, "run": "r", "graph": graph, "inputs": INPUTS, "manifest": EVERYTHING, "key": KEY, **fields}


def driver(**fields):
    return Driver(report_of_seed, again, now=NOW, events=500, resumes=4, **fields)


def vector(lines, summary):
    """The vector of a run, as tests/purity/src/vectors.rs writes it."""
    message = (summary["error"] or {}).get("message", "")
    end = f"{summary['status']} fuel {summary['fuel']} steps {summary['steps']} {message}"
    return "\n".join([*lines, end, *summary["warnings"]])


def run_in_component(walker, text):
    try:
        run = walker.start(setup(text))
    except Problem as problem:
        return problem.message, 0
    drive = driver()
    drive.drive(run, {"event": "started"})
    found = vector(drive.lines, run.summary())
    run.drop()
    return found, len(drive.stored.records)


def vectors(walker, path):
    """Every graph of the repository, native and in the component."""
    table = collections.OrderedDict()
    records = different = 0
    documents = json.loads(pathlib.Path(path).read_text())
    for document in documents:
        found, stored = run_in_component(walker, document["document"])
        folder = "/".join(document["file"].split("/")[:3]) if document["file"].startswith("tests/cases") else "/".join(document["file"].split("/")[:-1][:2])
        row = table.setdefault(folder, [0, 0, 0])
        digests = [line for line in document["vector"].split("\n") if " sha256:" in line]
        row[0] += 1
        row[1] += len(digests)
        records += stored
        if found != document["vector"]:
            different += 1
            wanted, have = document["vector"].split("\n"), found.split("\n")
            at = next((i for i, line in enumerate(have) if i >= len(wanted) or line != wanted[i]), len(have) - 1)
            print(f"{document['file']}: line {at + 1} differs\n  native:    {wanted[at] if at < len(wanted) else None}\n  component: {have[at]}")
        else:
            row[2] += len(digests)
    print(f"{'graphs':32} {'count':>6} {'native':>8} {'equal':>8}")
    for folder, (count, native, equal) in table.items():
        print(f"{folder:32} {count:6} {native:8} {equal:8}")
    print(f"{len(documents)} graphs with {records} records in the component: {different} differ from native code")
    assert len(documents) >= 100 and records >= 1000, "too few to show anything"
    return different


def ranked(walker, path):
    """Searches in the lines of every graph find the same in the component as natively, in the same order."""
    searches = 0
    for document in json.loads(pathlib.Path(path).read_text()):
        lines = document["document"].removesuffix("\n").split("\n")
        entries = [(f"{number:05}", line.removesuffix("\r")) for number, line in enumerate(lines)]
        for line in document["ranking"].split("\n"):
            query, colon, keys = line.partition(":")
            if colon:
                found = [key for key, _ in walker.rank(entries, "", query, 20)]
                assert found == keys.split(), f"{document['file']}: {query}: native {keys}, component {found}"
                searches += 1
    assert walker.rank([("a/b", "a  fox"), ("b/c", "fox")], "a/", "FOX", 1) == [("a/b", "a fox")]
    assert walker.rank([("a", "b")], "", "!", 1) == "the query holds no word"
    assert searches >= 1000, "too few to show anything"
    print(f"{searches} searches find the same in the component")


def restored(walker, path, every=7):
    """A run that is dropped after any record is continued by `restore` and ends with the digests of the run that was not."""
    tried = 0
    for document in json.loads(pathlib.Path(path).read_text())[::every]:
        text = document["document"]
        # What such a channel holds is not stored.
        if "untracked" in text:
            continue
        try:
            whole_run = walker.start(setup(text))
        except Problem:
            continue
        whole = driver()
        whole.drive(whole_run, {"event": "started"})
        end = whole_run.summary()
        whole_run.drop()
        if end["status"] not in ("completed", "completed_with_errors") or whole.resumes or whole.left == 0:
            continue
        total = len(whole.stored.records)
        for cut in sorted({1, total // 2, total - 1}):
            if cut < 1 or cut >= total:
                continue
            first = driver(stop_after=cut)
            run = walker.start(setup(text))
            first.drive(run, {"event": "started"})
            run.drop()
            second = driver()
            second.now = first.now
            again_ = walker.restore(setup(text), first.stored.document())
            second.drive(again_, {"event": "resumed"})
            summary = again_.summary()
            again_.drop()
            for key in ("status", "state", "output", "visited_digest"):
                assert summary[key] == end[key], f"{document['file']}, cut after {cut} records: {key} differs"
            tried += 1
    assert tried > 20, f"only {tried} runs were continued"
    print(f"{tried} runs were dropped, restored from their records and ended the same")


def tampered(walker):
    """What was stored and changed is refused, and a fork begins where the stored run was."""
    text = "tool_type: graph\nconfig: {start: a, nodes: {a: {assign: {x: 1}, next: b}, b: {interrupt: before, assign: {y: 2}}}}\n"
    drive = Driver(report_of_seed, again, now=NOW, resumes=0)
    run = walker.start(setup(text))
    drive.drive(run, {"event": "started"})
    assert run.summary()["status"] == "interrupted", run.summary()
    run.drop()
    stored = drive.stored.document()
    for field, change in [
        ("body", lambda body: body.replace('"r"', '"q"', 1)),
        ("digest", lambda digest: digest[:-1] + ("0" if digest[-1] != "0" else "1")),
        ("signature", lambda signature: ("B" if signature[0] != "B" else "C") + signature[1:]),
        ("values", lambda values: [{**values[0], "json": "2"}]),
    ]:
        records = [dict(record) for record in stored["records"]]
        at = next(i for i, record in enumerate(records) if record["values"]) if field == "values" else 0
        records[at][field] = change(records[at][field])
        try:
            walker.restore(setup(text), {**stored, "records": records}).drop()
        except Problem as problem:
            assert problem.code == "integrity", problem
        else:
            raise AssertionError(f"a record with another {field} was taken")
    fork = walker.fork(setup(text, run="f"), stored, 1)
    forked = Driver(report_of_seed, again, now=NOW, resumes=1)
    forked.drive(fork, {"event": "forked", "edit": {"values": {"z": 3}}})
    assert fork.summary()["state"] == {"x": 1, "y": 2, "z": 3}, fork.summary()
    fork.drop()
    print("changed records are refused, a fork with an edit continues")


def trust(walker, repository):
    """Components of the examples are verified, granted what their manifests grant, and refused when one byte changed."""
    store = (repository / "examples/trust.yaml").read_text()
    assert json.loads(walker.call("trust", "check-store", "trust.yaml", store))["ok"]
    verified = 0
    for line in (repository / "examples/components.tsv").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        path = next(field for field in line.split() if field.endswith(".wasm"))
        path = repository / "examples" / path if (repository / "examples" / path).exists() else repository / path
        bytes_, envelope = path.read_bytes(), pathlib.Path(f"{path}.dsse.json").read_text()
        item = str(path.with_suffix("")).split("/.ai/tools/")[1]
        verify = lambda data: walker.call("trust", "[static]component.verify", data, envelope, store, item, NOW, NOW)
        component = verify(bytes_)
        report = json.loads(walker.call("trust", "[method]component.report", component))
        assert report["id"] == item and report["signed"] and report["keys"], report
        assert report["digest"] == walker.call("digests", "of-bytes", bytes_), report
        component.drop(walker.store)
        changed = bytearray(bytes_)
        changed[len(changed) // 2] ^= 1
        try:
            verify(bytes(changed))
        except Problem as problem:
            assert problem.code == "integrity" and "changed" in problem.message, problem
        else:
            raise AssertionError(f"{item} with one changed byte was taken")
        verified += 1
    assert verified >= 5, verified
    print(f"{verified} components verified, and refused with one changed byte")


def grants(walker, repository):
    """What a component is granted at a node, before a run and in it."""
    store = (repository / "examples/trust.yaml").read_text()
    path = next((repository / "examples/project-stats").rglob("*list-files.wasm"))
    item = str(path.with_suffix("")).split("/.ai/tools/")[1]
    envelope = pathlib.Path(f"{path}.dsse.json").read_text()
    component = walker.call("trust", "[static]component.verify", path.read_bytes(), envelope, store, item, NOW, NOW)
    text = f"tool_type: graph\nconfig: {{start: a, nodes: {{a: {{action: {{item_id: {item}}}}}}}}}\n"
    manifest = f'dispatch: ["*"]\nitems: {{"{item}": {{filesystem: [{{path: /data, as: /src, access: ro}}]}}}}\n'
    at = lambda manifest, node: walker.call(
        "trust", "[method]component.grant", component, "graph.yaml", "t/graph", text, node, manifest, "/")
    grant = json.loads(at(manifest, "a"))
    assert grant["grant"]["filesystem"] == [{"host": "/data", "guest": "/src", "access": "ro"}], grant
    assert grant == json.loads(at(manifest, None))
    try:
        at('dispatch: ["*"]', "a")
    except Problem as problem:
        assert problem.code == "denied" and "filesystem" in problem.message, problem
        assert problem.details["refusals"][0]["manifest_lines"], problem.details
    else:
        raise AssertionError("an interface that no manifest grants was granted")
    run = walker.start(setup(text, manifest={"name": "caps.yaml", "folder": "/", "text": manifest}))
    effects = run.handle(NOW, {"event": "started"})
    while not any(effect["effect"] == "run_task" for effect in effects):
        persist = next(effect for effect in effects if effect["effect"] == "persist")
        effects = run.handle(NOW, {"event": "persisted", "id": persist["id"]})
    task = next(effect for effect in effects if effect["effect"] == "run_task")["activation"]["task"]
    assert json.loads(walker.call("runs", "[method]run.grant", run.handle_, task, component)) == grant
    run.drop()
    component.drop(walker.store)
    print("a grant before the run is the grant in the run; what no manifest grants is refused")


def bad_input(walker):
    """What is not a document, a setup or an event of a run is refused by name, and the instance stays usable."""
    graph = "tool_type: graph\nconfig: {start: a, nodes: {a: {}}}\n"
    refusals = [
        ("invalid_json", lambda: walker.call("runs", "[static]run.start", "{")),
        ("invalid_json", lambda: walker.call("runs", "[static]run.start", "[" * 100_000)),
        ("invalid_json", lambda: walker.start(setup(graph, version=2))),
        ("invalid_json", lambda: walker.start(setup(graph, key="07"))),
        ("invalid_json", lambda: walker.start(setup(graph, unknown=1))),
        ("invalid_document", lambda: walker.start(setup("a: [", run="x"))),
        ("invalid_document", lambda: walker.start(setup(graph, manifest={**EVERYTHING, "text": "dispatsh: []"}))),
        ("not_found", lambda: walker.restore(setup(graph), {"records": []})),
        ("invalid_json", lambda: walker.restore(setup(graph), {"records": [{}]})),
        ("invalid_json", lambda: walker.call("digests", "canonical", '{"a": 1, "a": 2}')),
        ("invalid_json", lambda: walker.call("documents", "to-dot", '{"nodes": []}')),
        ("invalid_json", lambda: walker.call("trust", "verify-text", "picture", "a", "b", "", NOW)),
    ]
    for code, refused in refusals:
        try:
            refused()
        except Problem as problem:
            assert problem.code == code, (code, problem)
        else:
            raise AssertionError(f"{code} was expected")
    run = walker.start(setup(graph))
    for event in [
        {"event": "persisted", "id": 9}, {"event": "resumed"}, {"event": "forked"},
        {"event": "task_done", "task": "1.0", "attempt": 1, "report": {"outcome": {"result": 1}, "fuel": 1}},
        {"event": "task_done", "task": "1.0", "attempt": 1, "report": {"fuel": 1}},
        {"event": "looked_up", "task": "1.0", "attempt": 1, "key": "sha256:" + "0" * 64},
        {"event": "resumed", "answer": 1, "answers": {"a": 1}}, {"event": "thunder"}, [],
    ]:
        try:
            run.handle(NOW, event)
        except Problem:
            continue
        raise AssertionError(f"{event} was taken before the run began")
    drive = driver()
    drive.drive(run, {"event": "started"})
    assert run.summary()["status"] == "completed", "a refused event changed the run"
    run.drop()
    print(f"{len(refusals) + 9} bad inputs refused")


def documents(walker):
    """Documents, drawings and digests."""
    text = "tool_type: graph\nconfig_schema: {type: object, properties: {n: {type: integer, default: 4}}}\nconfig: {start: a, nodes: {a: {next: b}, b: {}}}\n"
    report = json.loads(walker.call("documents", "check-graph", "g.yaml", "t/g", text))
    assert report["ok"] and [node["name"] for node in report["graph"]["nodes"]] == ["a", "b"], report
    report = json.loads(walker.call("documents", "check-graph", "g.yaml", "t/g", text.replace("next", "nexd")))
    assert not report["ok"] and report["problems"][0]["help"] == "did you mean `next`?", report
    assert walker.call("documents", "explain", report["problems"][0]["code"])
    topology = walker.call("documents", "topology", "g.yaml", "t/g", text)
    assert walker.call("documents", "to-mermaid", topology).startswith("flowchart")
    assert "digraph" in walker.call("documents", "to-dot", topology)
    assert walker.call("documents", "check-inputs", "g.yaml", "t/g", text, "{}") == '{"n":4}'
    try:
        walker.call("documents", "check-inputs", "g.yaml", "t/g", text, '{"n": "x"}')
    except Problem as problem:
        assert problem.details["inputs"][0]["path"] == "/n", problem.details
    assert walker.call("digests", "canonical", '{"b": 1.0, "a": [1e21, -0.0]}') == '{"a":[1e+21,0],"b":1}'
    print("documents, drawings and digests")


def native(walker, graph_host, repository):
    """Runs of the command line: result digests of exported checkpoints, and `graph show`, against the component's."""
    chain = "{start: n0, nodes: {" + "".join(f"n{i}: {{assign: {{c{i}: {i}}}, next: n{i + 1}}}, " for i in range(30)) + "n30: {}}}"
    loop = ("{start: a, max_steps: 60, on_max_steps: return_last, channels: {log: {reducer: append}, now: {reducer: ephemeral}, "
            "all: {reducer: topic}, none: {reducer: untracked}}, nodes: {a: {assign: {log: [x], now: 1, all: [2], none: 3}, "
            "next: b}, b: {assign: {é: '${state.now}'}, next: a}}}")
    fan = ("{start: [a, b], channels: {got: {reducer: append}, top: {reducer: max}}, nodes: {a: {assign: {got: "
           "'${inputs.items}', top: '${inputs.n}'}, next: c}, b: {assign: {got: x, top: 2.5}, next: [{to: c, when: {path: "
           "inputs.n, op: gt, value: 5}}]}, c: {type: return, output: {got: '${state.got}', n: '${state.top}'}}}}")
    graphs = {"chain": (chain, {}), "loop": (loop, {}), "fan": (fan, {"items": [1, 2.5, "x"], "n": 7})}
    print(f"{'run of the command line':24} {'checkpoints':>11} {'equal':>6}   last result digest")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / ".ai").mkdir()
        run = lambda *words: subprocess.run([graph_host, *words], cwd=folder, capture_output=True, check=False, text=True)
        for name, (config, inputs) in graphs.items():
            text = f"tool_type: graph\nconfig: {config}\n"
            (folder / f"{name}.yaml").write_text(text)
            (folder / "inputs.json").write_text(json.dumps(inputs))
            ran = run("run", f"{name}.yaml", "--quiet", "--run-id", name, "--inputs", "inputs.json")
            assert ran.returncode == 0, ran.stderr
            assert run("runs", "export", name, "--output", f"{name}.jsonl").returncode == 0
            lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
            bodies = [line["record"]["body"] for line in lines if line.get("record", {}).get("kind") == "checkpoint"]
            wanted = [json.loads(body)["result"] for body in bodies]
            shown = json.loads(run("graph", "show", f"{name}.yaml", "--format", "json").stdout)
            assert shown == json.loads(walker.call("documents", "topology", f"{name}.yaml", shown["id"], text)), name
            drive = driver()
            component_run = walker.start(setup(text, inputs=inputs, manifest=None,
                                               graph={"name": f"{name}.yaml", "id": shown["id"], "text": text}))
            drive.left = 20_000
            drive.drive(component_run, {"event": "started"})
            component_run.drop()
            found = [line.split(" result ")[1].split(" ")[0] for line in drive.lines if " result " in line]
            equal = sum(one == other for one, other in zip(wanted, found))
            print(f"{name:24} {len(wanted):11} {equal:6}   {wanted[-1]}")
            assert wanted == found, f"{name}: the result digests differ"


def main():
    path, vectors_path, repository, *rest = sys.argv[1:]
    repository = pathlib.Path(repository)
    walker = Walker(path)
    documents(walker)
    trust(walker, repository)
    grants(walker, repository)
    bad_input(walker)
    tampered(walker)
    different = vectors(walker, vectors_path)
    restored(walker, vectors_path)
    ranked(walker, vectors_path)
    if rest:
        native(walker, rest[0], repository)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
