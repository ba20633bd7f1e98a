"""Compares instruction counts with a baseline, or writes a new one.

Usage: compare.py BASELINE MACHINE RUSTC [--update] PATH=COUNT...
"""

import json
import sys

TOLERANCE = 0.05


def main():
    file, machine, rustc, *rest = sys.argv[1:]
    counts = {name: int(count) for name, count in (word.split("=") for word in rest if word != "--update")}
    if "--update" in rest:
        with open(file, "w") as baseline:
            json.dump({"machine": machine, "rustc": rustc, "instructions": counts}, baseline, indent=2)
            baseline.write("\n")
        for name, count in counts.items():
            print(f"{name:12} {count:15,}")
        return 0
    baseline = json.load(open(file))
    expected, slower, faster = baseline["instructions"], [], []
    for name in {**expected, **counts}:
        if name not in expected or name not in counts:
            print(f"{name:12} is {'not in the baseline' if name in counts else 'only in the baseline'}")
            slower.append(name)
            continue
        change = counts[name] / expected[name] - 1
        print(f"{name:12} {counts[name]:15,} instructions, {change:+8.2%} against the baseline")
        if change > TOLERANCE:
            slower.append(name)
        elif change < -TOLERANCE:
            faster.append(name)
    if baseline["rustc"] != rustc and (slower or faster):
        print(f"the baseline was counted with Rust {baseline['rustc']}, this is Rust {rustc}: the compiler may be the cause")
    if faster:
        print(f"{', '.join(faster)}: more than {TOLERANCE:.0%} below the baseline; record it with tests/instructions/run --update")
    if slower:
        print(f"FAILED: {', '.join(slower)}: more than {TOLERANCE:.0%} above the baseline, or not counted in both")
        print("If the cost is justified, run tests/instructions/run --update and give the reason in the commit")
    return 1 if slower else 0


sys.exit(main())
