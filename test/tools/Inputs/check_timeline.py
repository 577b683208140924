"""Checks a trace, and the page that shows the same step.

    check_timeline.py TRACE.json PAGE.html [--measured RANKS] [--simulated]

The model is that of timeline.test: two products and an exponential between them, of modules h.0.<fc>, h.0.proj and
h.0.act, and a sum over the axis tp at the end. The page must be well formed, refer to nothing outside of itself, and
draw each event of the trace within the picture.
"""
import argparse
import collections
import html.parser
import json
import re

parser = argparse.ArgumentParser()
parser.add_argument("trace")
parser.add_argument("page")
parser.add_argument("--measured", type=int, default=0)
parser.add_argument("--simulated", action="store_true")
options = parser.parse_args()


def check(what, holds):
    if not holds:
        raise SystemExit(f"{options.trace}, {options.page}: {what}")


class Page(html.parser.HTMLParser):
    """Elements in order, with the text in them; tags must be balanced."""
    VOID = {"meta"}

    def __init__(self):
        super().__init__()
        self.open, self.elements = [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in self.VOID:
            self.open.append(self.elements[-1])

    def handle_endtag(self, tag):
        check(f"</{tag}> closes nothing", self.open and self.open[-1][0] == tag)
        self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.open[-1][2].append(data)


events = json.load(open(options.trace, encoding="utf-8"))["traceEvents"]
owners = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
drawn = [e for e in events if e["ph"] == "X"]
ranks = [f"rank {i} (tp={i})" for i in range(options.measured)]
simulated = ["each rank, simulated on cpu"] if options.simulated else []
check(f"owners are {owners}", [owners[i] for i in sorted(owners)] == ranks + simulated)
for pid, owner in owners.items():
    own = collections.Counter((tracks[e["pid"], e["tid"]], e["name"]) for e in drawn if e["pid"] == pid)
    wanted = {("compute", "contract h.0.<fc>"): 1, ("compute", "kernel h.0.act"): 1, ("compute", "contract h.0.proj"): 1,
              ("link tp", "all_reduce"): 1}
    if owner in simulated:
        wanted = {("compute", "matmul h.0.<fc>"): 1, ("compute", "exp h.0.act"): 1, ("compute", "matmul h.0.proj"): 1,
                  ("link tp", "all_reduce tp"): 1}
    check(f"{owner} has {own}", own == wanted)
# What a thread does ends before it does something else; as doubles, of microseconds.
for place in tracks:
    own = sorted((e["ts"], e["ts"] + e["dur"]) for e in drawn if (e["pid"], e["tid"]) == place)
    check(f"{place} does two things at once", all(a[1] <= b[0] + 1e-3 for a, b in zip(own, own[1:])))

text = open(options.page, encoding="utf-8").read()
page = Page()
page.feed(text)
page.close()
check(f"{page.open} is never closed", not page.open)
outside = re.findall(r"(?:https?:)?//[\w.]+[^\"' ]*|\b(?:src|href)=", text.replace("http://www.w3.org/2000/svg", ""))
check(f"the page refers to {outside}", not outside)
charts = [attrs for tag, attrs, _ in page.elements if tag == "svg" and attrs["id"] == "chart"]
check("there is no picture", len(charts) == 1)
# Attributes lose their capitals in the parser.
_, _, width, height = map(float, charts[0]["viewbox"].split())
rects = [attrs for tag, attrs, _ in page.elements if tag == "rect"]
titles = ["".join(data) for tag, attrs, data in page.elements if tag == "title"][1:]
check(f"{len(rects)} of {len(drawn)} events are drawn", len(rects) == len(titles) == len(drawn))
for rect in rects:
    x, y, w, h = (float(rect[key]) for key in ("x", "y", "width", "height"))
    check(f"{rect} is beyond the picture", 0 <= x and 0 <= w and x + w <= width * 1.001 and 0 <= y and y + h <= height)
names = collections.Counter(title.split("\n")[0] for title in titles)
for name, wanted in (("contract h.0.<fc>", options.measured), ("kernel h.0.act", options.measured),
                     ("contract h.0.proj", options.measured), ("all_reduce h.0.proj", options.measured),
                     ("matmul h.0.<fc>", len(simulated)), ("all_reduce tp h.0.proj", len(simulated))):
    check(f"{name}: {names}", names[name] == wanted)
rows = ["".join(data) for tag, attrs, data in page.elements if tag == "div" and not attrs.get("id")]
check(f"rows are {rows}", rows == [row for owner in ranks + simulated for row in (owner, "compute", "link tp")])
