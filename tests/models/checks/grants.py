"""What a manifest has to grant before a component may ask a model."""

import re

from project import ITEM, VARIABLE, check, equal, manifest, model, spending

USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
DISPATCH = f'dispatch: ["execute.tool.{ITEM.replace("/", ".")}"]\n'


def models_text(port):
    return f'models:\n  m: {{ api: openai-chat, url: "http://127.0.0.1:{port}/v1", model: gpt-5, secret: {{ env: {VARIABLE} }}, addresses: [127.0.0.1] }}\n'


def printed_lines(text):
    """The lines of a manifest in a message: from `models:` or `items:` on, as far as they are indented alike."""
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.strip() in ("models:", "items:")]
    check(starts, f"expected lines of a manifest in {text}")
    indent = len(lines[starts[0]]) - len(lines[starts[0]].lstrip())
    taken = []
    for line in lines[starts[0] :]:
        is_top = line.strip() in ("models:", "items:")
        if line.strip() and (len(line) - len(line.lstrip()) > indent or (is_top and line.startswith(" " * indent))):
            taken.append(line[indent:])
        else:
            break
    return "\n".join(taken) + "\n"


def for_this_provider(text, port):
    """What a user changes in suggested lines: the URL, the model and its key."""
    text = re.sub(r'url: "[^"]*"', f'url: "http://127.0.0.1:{port}/v1"', text)
    text = re.sub(r"secret: \{ env: \w+ \}", f"secret: {{ env: {VARIABLE} }}, addresses: [127.0.0.1]", text)
    return re.sub(r"model: small", "model: gpt-5", text)


def rows(project):
    provider = project.provider

    def answered():
        provider.script({"match": {}, "response": {"content": "Hello", "usage": USAGE}})
        return provider.scripted.port

    def run(graph, caps, code=0):
        """A run with a manifest that is text."""
        project.runs += 1
        name = f"grant-{project.runs}"
        project.write(f"{name}.json", graph)
        project.write(f"{name}.yaml", caps)
        done = project.command("run", f"{name}.json", "--caps", f"{name}.yaml", "--run-id", name, code=code)
        return done.stdout + done.stderr

    def without_entry(before, name):
        """The manifest lacks what `lines` grants; the lines that are printed are typed."""

        def row():
            port = answered()
            caps = DISPATCH + before(port)
            said = run(spending("Hello", model=name), caps, code=4)
            equal(len(provider.scripted.take()), 0, "requests before the run starts")
            check("graph-host:host/model" in said and "`ask`" in said, f"expected the interface and the node in {said}")
            lines = for_this_provider(printed_lines(said), port)
            run(spending("Hello", model=name), caps + lines)
            equal(len(provider.scripted.take()), 1, "requests with the lines that were printed")

        return row

    yield "an item without an entry: the printed lines grant the model", without_entry(models_text, "m")
    yield "a manifest without models: the printed lines name and grant one", without_entry(lambda _: "", "fast")

    def entry_without_model():
        port = answered()
        caps = DISPATCH + models_text(port) + f'items:\n  "{ITEM}":\n    clocks: true\n'
        said = run(spending("Hello"), caps, code=4)
        equal(len(provider.scripted.take()), 0, "requests before the run starts")
        granting = [line.strip() for line in printed_lines(said).splitlines() if line.strip().startswith("model:")]
        equal(granting, ["model: [m]"], f"the line that grants it, in {said}")
        run(spending("Hello"), caps + f"    {granting[0]}\n")
        equal(len(provider.scripted.take()), 1, "requests with the line that was printed")

    yield "an entry without `model`: the printed line grants it", entry_without_model

    def unknown_name():
        port = answered()
        caps = DISPATCH + models_text(port) + f'items:\n  "{ITEM}":\n    model: [m, slow]\n'
        said = run(spending("Hello"), caps, code=(3, 4))
        check("slow" in said and "`m`" in said and "models" in said, f"expected the unknown and the known names in {said}")
        equal(len(provider.scripted.take()), 0, "requests")

    yield "an entry that lists a model which the manifest does not name", unknown_name

    def asked_for_another():
        """Which model a component asks for is known only when it does."""
        port = answered()
        caps = manifest({"m": model(port), "other": model(port)})
        caps["items"][ITEM]["model"] = ["m"]
        _, document = project.run(spending("Hello", model="other"), caps)
        (answer,) = document["output"]["result"]["answers"]
        equal(answer["failed"]["category"], "denied", f"the category of {answer}")
        message = answer["failed"]["message"]
        check("`m`" in message and "model: [other]" in message, f"expected the granted model and the line that grants the other in {message!r}")
        equal(len(provider.scripted.take()), 0, "requests")
        caps["items"][ITEM]["model"] = ["other"]
        project.run(spending("Hello", model="other"), caps)
        equal(len(provider.scripted.take()), 1, "requests with the line that was printed")

    yield "a model that the component is not granted: a denied failure with the line that grants it", asked_for_another

    def narrowed():
        """The node's own `capabilities` take the model away."""
        port = answered()
        document = spending("Hello")
        document["config"]["nodes"]["ask"]["capabilities"] = {"interfaces": ["log"]}
        said = run(document, DISPATCH + models_text(port) + f'items:\n  "{ITEM}": {{ model: [m] }}\n', code=(3, 4))
        check("model" in said, f"expected what is missing in {said}")
        equal(len(provider.scripted.take()), 0, "requests")

    yield "a node whose `capabilities` leave models out", narrowed

    def suggested():
        port = answered()
        graph = project.write("suggest.json", spending("Hello", model="fast"))
        text = project.command("caps", "suggest", graph).stdout
        check("models:" in text and "model: [fast]" in text, f"expected a model in {text}")
        project.write("suggested.yaml", text)
        project.command("validate", "suggested.yaml", "--kind", "manifest")
        project.write("suggested.yaml", for_this_provider(text, port))
        project.command("validate", graph, "--caps", "suggested.yaml")
        project.command("run", graph, "--caps", "suggested.yaml", "--run-id", "suggested")
        equal(len(provider.scripted.take()), 1, "requests")

    yield "caps suggest: the manifest validates, and runs once the provider is filled in", suggested


