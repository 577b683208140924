"""Checks a profile beside the trace of the same run.

    check_profile.py TRACE.json OUTPUT

OUTPUT is what a tool wrote with --json; its last line has the profile. From the trace's events it follows how often an
average rank did what, how long it took, what was sent, and how much time is left.
"""
import collections
import json
import re
import sys

trace, output = sys.argv[1:]
events = [e for e in json.load(open(trace, encoding="utf-8"))["traceEvents"] if e["ph"] == "X"]
profile = json.loads(open(output, encoding="utf-8").read().splitlines()[-1])["profile"]
ranks = sorted({e["pid"] for e in events})
times, calls, sent = (collections.defaultdict(lambda: dict.fromkeys(ranks, 0)) for _ in range(3))
for e in events:
    scope = e["args"].get("scope", "")
    beside = "beside_computation" in e["args"]
    key = e["name"].removesuffix(" " + scope), re.sub(r"(?<![^.])\d+(?![^.])", "*", scope), beside
    times[key][e["pid"]] += e["dur"]
    calls[key][e["pid"]] += 1
    sent[key][e["pid"]] += e["args"].get("bytes_sent", 0)


def check(what, got, want):
    if abs(got - want) > 1e-6 * abs(want) + 0.01:
        raise SystemExit(f"{what}: {got}, but {want} in the trace")


rows = {(row["what"], row["module"], row["beside_computation"]): row for row in profile["rows"]}
assert rows.keys() == times.keys(), (sorted(rows), sorted(times))
assert len(rows) == len(profile["rows"]) and profile["ranks"] == len(ranks), profile
assert [row["us"] for row in profile["rows"]] == sorted((row["us"] for row in profile["rows"]), reverse=True)
for key, row in rows.items():
    check(f"us of {key}", row["us"], sum(times[key].values()) / len(ranks))
    check(f"most of {key}", row["most_us"], max(times[key].values()))
    check(f"calls of {key}", row["calls"], sum(calls[key].values()) / len(ranks))
    check(f"bytes of {key}", row["bytes_sent"], sum(sent[key].values()) / len(ranks))
spans = {rank: max(e["ts"] + e["dur"] for e in events if e["pid"] == rank) - min(e["ts"] for e in events if e["pid"] == rank) for rank in ranks}
busy = {rank: sum(e["dur"] for e in events if e["pid"] == rank and "beside_computation" not in e["args"]) for rank in ranks}
check("us", profile["us"], sum(spans.values()) / len(ranks))
idle = [spans[rank] - busy[rank] for rank in ranks]
check("idle us", profile["idle_us"], sum(idle) / len(ranks))
check("most idle us", profile["most_idle_us"], max(idle))
