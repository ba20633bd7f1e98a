"""Everything that `models:` in a manifest promises, against a provider that others wrote.

    main.py GRAPH_HOST AIMOCK GUEST [--only TEXT]

AIMOCK is a folder with serve.mjs, node_modules and the components in other languages, GUEST the sources of the component. SEED draws what is random; FULL=1 tries more of it.
Each row is printed; the last line is `N passed, N failed`.
"""

import argparse
import os
import pathlib
import secrets
import tempfile
import time
import traceback

import agents
import budgets
import conversation
import durability
import faults
import grants
import key
import languages
import messages
import threads
from project import ITEM, VARIABLE, Project
from provider import Provider

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
SEED = os.environ.get("SEED", "11")
BUDGETS = 1000 if os.environ.get("FULL") else 50


def prepare(project, guest):
    """Builds and signs the component. Its key is trusted with models alone."""
    project.command("keys", "generate", "me")
    project.command("trust", "add", "me", "--key", "me", "--items", "me/*", "--may", "model")
    path = project.folder / f".ai/tools/{ITEM}.wasm"
    path.parent.mkdir(parents=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "models"
    guest = pathlib.Path(guest).resolve()
    project.command("build", guest, "--id", ITEM, "--out", path, "--sign-with", "me", "--locked", "--target-dir", target, seconds=900)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph_host")
    parser.add_argument("aimock")
    parser.add_argument("guest")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    counts = {True: 0, False: 0}

    def run(name, row):
        if arguments.only not in name:
            return
        began = time.monotonic()
        try:
            row()
            passed, problem = True, ""
        except AssertionError as error:
            passed, problem = False, str(error)
        except Exception:  # A check that cannot be made is one that fails.
            passed, problem = False, traceback.format_exc()
        counts[passed] += 1
        print(f"{'ok    ' if passed else 'FAILED'} {time.monotonic() - began:5.1f} s  {name}", flush=True)
        if problem:
            print("    " + problem.replace("\n", "\n    "), flush=True)

    # Neither a secret nor random in the sense of the checks: a text that occurs nowhere else.
    secret = f"sk-{secrets.token_urlsafe(30)}"
    with tempfile.TemporaryDirectory() as folder:
        provider = Provider(arguments.aimock, secret)
        project = Project(str(pathlib.Path(arguments.graph_host).resolve()), folder, provider, secret)
        try:
            prepare(project, arguments.guest)
            for module, more in ((conversation, ()), (budgets, (SEED, BUDGETS)), (faults, (SEED,)), (messages, ()), (languages, (pathlib.Path(arguments.aimock) / "tests/models/guests",)), (durability, ()), (grants, ()), (agents, ()), (threads, ()), (key, ())):
                for name, row in module.rows(project, *more):
                    run(name, row)
        finally:
            provider.stop()
        run("every run is replayed: offline, without a key", lambda: durability.replays(project))
        run(f"the key is in nothing that was printed or written (the variable {VARIABLE})", lambda: key.traces(project))
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    raise SystemExit(main())
