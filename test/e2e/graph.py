#!/usr/bin/python3
"""A graph network whose graph is cut into parts (examples/graph, dist.graph_halo).

    graph.py EXPORTER [REGEX]     only cases whose name matches

On 1 to 5 ranks, which do not all divide the nodes or the edges, and for both graphs, one of edges that are near and
one of any edges:

- `GRAPH_RANKS`: results equal PyTorch's, and those of one device in f64 within 1e-10; what each rank sent is the closed
  form, to the byte: a row to each other rank that an edge there names, and a sum for each row of others that edges here
  lead to. Nothing else is sent, and nothing at all to ranks that edges do not reach;
- `GRAPH_RANKS_gradients`: the gradients of all parameters and inputs equal those of one device in f64; rows and sums go
  the same ways back.

What should be sent is found here from the arrays of edges alone. Programs come from tools/ and models from examples/,
below the current folder.
"""

import array
import collections
import json
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402
from run_model import Failure, call, compare_npy  # noqa: E402

FOLDER = os.path.abspath(os.path.join("examples", "graph"))
NODES, EDGES, FEATURES, LAYERS = 24, 96, 16, 2


def read_edges(path):
    """Sources and targets."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<H", data, 8)
    numbers = array.array("q", data[10 + length :])
    return numbers[:EDGES], numbers[EDGES:]


def block(size, ranks, rank):
    rows = -(-size // ranks)
    return range(min(rank * rows, size), min((rank + 1) * rows, size))


def find_rows(indices, ranks):
    """For each pair of ranks the rows of one that edges of the other name. What is padding names row 0."""
    wanted = collections.defaultdict(set)
    for rank in range(ranks):
        edges = block(EDGES, ranks, rank)
        named = {indices[edge] for edge in edges} | ({0} if len(edges) < -(-EDGES // ranks) else set())
        for owner in range(ranks):
            rows = named & set(block(NODES, ranks, owner))
            if owner != rank:
                wanted[owner, rank] = rows
    return wanted


def sent_rows(indices, ranks, rank):
    """What a rank sends: rows that others name; sums of rows of others."""
    wanted = find_rows(indices, ranks)
    gathered = sum(len(wanted[rank, other]) for other in range(ranks) if other != rank)
    reduced = sum(len(wanted[owner, rank]) for owner in range(ranks) if owner != rank)
    return gathered, reduced


class Graph:
    def __init__(self, exporter, scratch):
        self.scratch = scratch
        self.module = os.path.join(scratch, "graph.mlir")
        call("dist-import", os.path.join(FOLDER, f"graph.{exporter}.onnx"), "-o", self.module)

    def write_schedule(self, ranks):
        with open(os.path.join(FOLDER, "parts.mlir")) as file:
            text = file.read()
        path = os.path.join(self.scratch, "parts.mlir")
        with open(path, "w") as file:
            file.write(text.replace('"gp" = 4', f'"gp" = {ranks}'))
        return path

    def run(self, module, graph, ranks, *options):
        """Runs and verifies the module; what was sent, by rank and op, and the folder of its results."""
        results, trace = (os.path.join(self.scratch, name) for name in ("results", "trace.json"))
        inputs = [f"--input={name}={FOLDER}/inputs{graph}/{name}.npy" for name in ("x", "edge_index", "edges")]
        text = call("dist-run", module, *options, *inputs, "--verify=f64", xunit.OPT_LEVEL, "--atol=1e-10", "--rtol=1e-10", "--json",
                    "--output", results, "--trace", trace)
        verdict = json.loads(text.strip().splitlines()[-1])
        if verdict["ok"] is not True or verdict["ranks"] != ranks or not verdict["outputs"]:
            raise Failure(f"not the verdict of {ranks} ranks that agree: {verdict}")
        sent = collections.Counter()
        with open(trace) as file:
            for event in json.load(file)["traceEvents"]:
                size = event.get("args", {}).get("bytes_sent", 0)
                if size:
                    sent[event["pid"], event["name"]] += size
        return sent, results

    def check_sent(self, sent, graph, ranks, passes):
        """`passes` of 1: forward; of 2: backward as well, where rows become sums and sums rows. In f64."""
        sources, targets = read_edges(f"{FOLDER}/inputs{graph}/edge_index.npy")
        expected = collections.Counter()
        for rank in range(ranks):
            size = LAYERS * FEATURES * 8
            # A layer looks both ends of an edge up, and adds up at its target.
            for gathers, sums in (((sources, targets), (targets,)), ((targets,), (sources, targets)))[:passes]:
                expected[rank, "gather_rows"] += size * sum(sent_rows(indices, ranks, rank)[0] for indices in gathers)
                expected[rank, "reduce_rows"] += size * sum(sent_rows(indices, ranks, rank)[1] for indices in sums)
        rows = {key: size for key, size in sent.items() if key[1] in ("gather_rows", "reduce_rows")}
        wanted = {key: size for key, size in expected.items() if size}
        if rows != wanted:
            raise Failure(f"rows of {rows} were sent, expected {wanted}")
        others = {name for _, name in sent} - {"gather_rows", "reduce_rows"}
        if others - ({"all_reduce"} if passes > 1 else set()):
            raise Failure(f"more than rows was sent: {others}")

    def check(self, graph, ranks):
        schedule = self.write_schedule(ranks)
        sent, results = self.run(self.module, graph, ranks, "--schedule", schedule)
        compare_npy(os.path.join(results, "y.npy"), f"{FOLDER}/outputs{graph}/y.npy", 1e-4)
        self.check_sent(sent, graph, ranks, 1)

    def check_gradients(self, graph, ranks):
        made = os.path.join(self.scratch, "gradients.mlir")
        call("dist-opt", self.module, f"--dist-apply-schedule=file={self.write_schedule(ranks)}",
             "--dist-differentiate=cotangent=cotangent wrt=**", "-o", made)
        sent, _ = self.run(made, graph, ranks, "--input=cotangent=random")
        self.check_sent(sent, graph, ranks, 2)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    exporter, wanted = (sys.argv[1:] + [""])[:2]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        graph = Graph(exporter, scratch)
        cases = {}
        for number, name in enumerate(("near", "any")):
            for ranks in (1, 2, 3, 4, 5):
                cases[f"{name}_{ranks}"] = lambda number=number, ranks=ranks: graph.check(number, ranks)
                if ranks in (2, 3, 4):
                    cases[f"{name}_{ranks}_gradients"] = lambda number=number, ranks=ranks: graph.check_gradients(
                        number, ranks)
        return xunit.run(f"e2e.graph.{exporter}", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
