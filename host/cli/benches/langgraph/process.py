"""A whole process that runs one graph with LangGraph and ends: `process.py loop|fan-out SIZE`."""

import sys

import graphs


def main() -> None:
    kind, size = sys.argv[1], int(sys.argv[2])
    graph = graphs.loop(size, "x" * 960) if kind == "loop" else graphs.fan_out()
    state = graph.compile().invoke(graphs.inputs_of(kind, size), {"recursion_limit": size + 10})
    print(graphs.output_of(kind, state))


main()
