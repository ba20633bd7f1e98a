"""The walker component (wit/walker), driven from Python with wasmtime: nothing of graph-host runs here but the component."""

import json

import wasmtime
from wasmtime import component

PACKAGE = "graph-host:walker"
VERSION = "0.1.0"


class Problem(Exception):
    """What the component refused."""

    def __init__(self, record):
        super().__init__(f"{record.code}: {record.message}")
        self.code, self.message, self.help = record.code, record.message, record.help
        self.details = json.loads(record.details) if record.details else None


class Walker:
    """An instance of the component. It has no imports, so the linker is empty."""

    def __init__(self, path):
        engine = wasmtime.Engine()
        compiled = component.Component.from_file(engine, path)
        for name, item in compiled.type.imports(engine).items():
            # Types are no imports of anything.
            kinds = {type(inner).__name__ for inner in getattr(item, "exports", lambda _: {})(engine).values()}
            assert name == f"{PACKAGE}/types@{VERSION}" and "FuncType" not in kinds, f"the component imports {name}"
        self.store = wasmtime.Store(engine)
        self.instance = component.Linker(engine).instantiate(self.store, compiled)
        self.functions = {}

    def call(self, interface, function, *arguments):
        """Calls a function; a refusal is raised as Problem."""
        key = (interface, function)
        if key not in self.functions:
            outer = self.instance.get_export_index(self.store, f"{PACKAGE}/{interface}@{VERSION}")
            inner = self.instance.get_export_index(self.store, function, outer)
            self.functions[key] = self.instance.get_func(self.store, inner)
        found = self.functions[key]
        result = found(self.store, *arguments)
        found.post_return(self.store)
        if isinstance(result, component.Record):
            raise Problem(result)
        return result

    def start(self, setup):
        return Run(self, self.call("runs", "[static]run.start", json.dumps(setup)))

    def restore(self, setup, stored):
        return Run(self, self.call("runs", "[static]run.restore", json.dumps(setup), json.dumps(stored)))

    def fork(self, setup, stored, checkpoint):
        return Run(self, self.call("runs", "[static]run.fork", json.dumps(setup), json.dumps(stored), checkpoint))

    def rank(self, entries, prefix, query, limit):
        """The keys and excerpts of the entries that a search finds; what is wrong with the query, if it cannot be used."""
        ranking = self.call("host", "[static]ranking.open", prefix, query, limit)
        if isinstance(ranking, str):
            return ranking
        for key, text in entries:
            self.call("host", "[method]ranking.add", ranking, key, text)
        texts = dict(entries)
        best = self.call("host", "[method]ranking.best", ranking)
        found = [(key, self.call("host", "[method]ranking.excerpt", ranking, texts[key])) for key in best]
        ranking.drop(self.store)
        return found


class Run:
    """A run inside of the component."""

    def __init__(self, walker, handle):
        self.walker, self.handle_ = walker, handle

    def handle(self, now, event):
        return json.loads(self.walker.call("runs", "[method]run.handle", self.handle_, now, json.dumps(event)))

    def summary(self):
        return json.loads(self.walker.call("runs", "[method]run.summary", self.handle_))

    def drop(self):
        self.handle_.drop(self.walker.store)
