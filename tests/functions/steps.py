"""What the checks of functions do again and again: run graph-host, write a file, end with what does not hold."""

import json
import subprocess
import sys

GRAPH_HOST = sys.argv[1]


def graph_host(*arguments, code=0):
    done = subprocess.run([GRAPH_HOST, *arguments], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}, expected {code}:\n{done.stdout}{done.stderr}")
    return done


def write(name, value):
    with open(name, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False)
    return name


def check(holds, what):
    if not holds:
        sys.exit(str(what))
