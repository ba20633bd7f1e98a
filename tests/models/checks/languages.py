"""The conversation in components that were written with the SDKs for other languages than Rust."""

import json
import pathlib
import re
import shutil

from conversation import SCRIPT, TURNS, expected, fixture, hold
from project import APIS, ITEM, asking, check, equal, manifest, model

LANGUAGES = {"python": "Python", "ts": "TypeScript", "c": "C"}
GUIDE = pathlib.Path(__file__).resolve().parents[3] / "host/docs/guide/models.md"
INSTALLED = (".venv", "node_modules")
BUDGET = {"calls": 2, "input_tokens": 100_000, "output_tokens": 8_000, "when_used_up": "finish"}
LEFT = {"calls": 2, "input": 100_000, "output": 8_000}


def built(project, language, sources):
    """The item of the component in a language, which is built when it is first asked for."""
    item = f"{ITEM}-{language}"
    path = project.folder / f".ai/tools/{item}.wasm"
    if not path.exists():
        project.command("build", sources / language, "--id", item, "--out", path, "--sign-with", "me", seconds=900)
    return item


def example(language):
    """The component of the guide in a language."""
    found = re.findall(rf"<!-- title: {language} -->\n```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    equal(len(found), 1, f"examples in {LANGUAGES[language]} in {GUIDE.name}")
    return found[0]


def turn(name, text, **more):
    return {"name": name, "user": [{"text": text}], "answer": {"content": f"{text}!"}, **more}


def rows(project, sources):
    of_rust = {}

    def transcripts(language):
        item = built(project, language, sources)
        for api in APIS:
            for streamed, has_reasoning in ((False, False), (True, True)):
                name = f"{api}, {'streamed, with' if streamed else 'whole, without'} reasoning, in {LANGUAGES[language]}"
                if (api, streamed) not in of_rust:
                    of_rust[api, streamed] = hold(project, TURNS, api, streamed, has_reasoning)
                transcript, messages, _, sent = hold(project, TURNS, api, streamed, has_reasoning, item)
                of_it, told, _, sent_by_it = of_rust[api, streamed]
                equal(transcript, [expected(turn) for turn in TURNS], f"the transcript, {name}")
                equal(transcript, of_it, f"the transcript, {name}, and that of Rust")
                equal(messages, told, f"the failures, {name}")
                # What a provider calls reasoning has another id each time.
                check(len(sent) == len(sent_by_it) and (has_reasoning or sent == sent_by_it), f"the requests, {name}:", json.dumps(sent, indent=1))

    def used_up(language):
        item = built(project, language, sources)
        provider = project.provider
        turns = [turn("first", "One"), turn("second", "Two"), turn("last", "Three", request={"tool_choice": "none"})]
        provider.in_order(*(fixture(one, "openai-chat", False) for one in (turns[0], turns[2])))
        models = {name: model(provider.scripted.port, attempts=1, max_output=1000) for name in ("m", "other")}
        caps = manifest(models, task=BUDGET, item=item)
        talk = asking(item, op="converse", model="m", system="Be brief.", tools=SCRIPT["tools"],
                      turns=[{"name": one["name"], "user": one["user"], "request": one.get("request", {})} for one in turns])  # fmt: skip
        _, document = project.run(talk, caps)
        first, second, last = document["output"]["result"]["transcript"]
        equal([first, last], [expected(turns[0]), expected(turns[2])], "what fits into the budget")
        equal([second["failed"][name] for name in ("category", "details")], ["limit", {"finish": True}], "the failure of what does not")
        equal(len(provider.scripted.take()), 2, "the requests that were sent")
        _, document = project.run(asking(item, op="left", model="m"), caps)
        result = document["output"]["result"]
        equal(result["models"], ["m", "other"], "the names of the models")
        equal({name: figure for name, figure in result["left"].items() if figure is not None}, LEFT, "what is left")

    def guide(language):
        folder, item = sources / f"{language}-title", f"{ITEM}-title-{language}"
        shutil.copytree(sources / language, folder, ignore=shutil.ignore_patterns(*INSTALLED))
        for name in INSTALLED:
            (folder / name).symlink_to(sources / language / name)
        (source,) = (path for path in (folder / "src").iterdir() if path.is_file())
        source.write_text(example(language))
        project.command("build", folder, "--id", item, "--out", project.folder / f".ai/tools/{item}.wasm", "--sign-with", "me", seconds=900)
        provider = project.provider
        provider.in_order(fixture(turn("title", "Tides"), "openai-chat", False))
        caps = manifest({"fast": model(provider.scripted.port, attempts=1)}, item=item)
        _, document = project.run(asking(item, text="The sea rises twice a day."), caps)
        equal(document["output"]["result"], "Tides!", "the title")
        (exchange,) = provider.scripted.take()
        messages = [{"role": "system", "content": "Answer with a title of at most six words."}, {"role": "user", "content": "The sea rises twice a day."}]
        equal([exchange.body["messages"], exchange.most], [messages, 50], "the request")

    for language, name in LANGUAGES.items():
        yield f"a component in {name}: the example of the guide", lambda language=language: guide(language)
        yield f"a component in {name}: the requests, the transcript and the failures of the one in Rust", lambda language=language: transcripts(language)
        yield f"a component in {name}: a budget that is used up, and what is left of one", lambda language=language: used_up(language)
