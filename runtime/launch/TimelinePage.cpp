//===- TimelinePage.cpp - What was done when, as a page for a browser -----===//
//
// The picture is an SVG with a unit of a microsecond horizontally and a pixel
// vertically. It is complete without the script. The script zooms by changing
// the visible part, and writes names where there is room.
//
//===----------------------------------------------------------------------===//

#include "dist/Timeline.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

using namespace dist;
using Json = nlohmann::json;

static constexpr int kRow = 22;

static const char kHead[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Timeline of a step</title>
<style>
body { font: 13px sans-serif; margin: 1em; color: #222; }
#picture { display: flex; }
#names { flex: none; padding-right: 8px; }
#names div { height: 22px; line-height: 22px; white-space: nowrap; }
#names .owner { font-weight: bold; }
#area { position: relative; flex: auto; overflow: hidden; }
svg { position: absolute; left: 0; top: 0; width: 100%; }
#labels, #axis { pointer-events: none; }
rect { stroke: #fff; stroke-width: 1; vector-effect: non-scaling-stroke; }
.product { fill: #4878cf; background: #4878cf; }
.other { fill: #9bb8e8; background: #9bb8e8; }
.link { fill: #e08a3c; background: #e08a3c; }
.beside { fill: #f2c28f; background: #f2c28f; }
.forward { fill: #4878cf; background: #4878cf; }
.backward { fill: #59a14f; background: #59a14f; }
.weight { fill: #b6992d; background: #b6992d; }
.waiting { fill: #e8e8e8; background: #e8e8e8; }
line { stroke: #888; stroke-width: 1; vector-effect: non-scaling-stroke; pointer-events: none; }
text { font: 11px sans-serif; }
#said { min-height: 3em; white-space: pre-wrap; }
.key { display: inline-block; width: 1em; height: 1em; vertical-align: -2px; }
</style>
</head>
<body>
)html";

static const char kScript[] = R"html(<script>
"use strict";
const chart = document.getElementById("chart"), labels = document.getElementById("labels");
const said = document.getElementById("said"), area = document.getElementById("area");
const whole = chart.viewBox.baseVal.width, height = chart.viewBox.baseVal.height;
let from = 0, width = whole;
const unit = t => t >= 1e6 ? (t / 1e6).toPrecision(4) + " s" : t >= 1e3 ? (t / 1e3).toPrecision(4) + " ms" : t.toPrecision(4) + " us";
function write(x, y, content) {
  const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
  text.setAttribute("x", x);
  text.setAttribute("y", y);
  text.textContent = content;
  labels.appendChild(text);
}
function show() {
  width = Math.min(Math.max(width, whole * 1e-6), whole);
  from = Math.min(Math.max(from, 0), whole - width);
  chart.setAttribute("viewBox", [from, 0, width, height].join(" "));
  labels.replaceChildren();
  const pixels = area.clientWidth / width;
  for (let i = 0; i < 8; ++i)
    write(i * area.clientWidth / 8, height + 14, unit(from + i * width / 8));
  for (const rect of chart.querySelectorAll("rect")) {
    const x = +rect.getAttribute("x"), end = x + +rect.getAttribute("width");
    const left = Math.max(x, from), room = (Math.min(end, from + width) - left) * pixels;
    if (room < 30) continue;
    const name = rect.firstElementChild.textContent.split("\n")[0];
    write((left - from) * pixels + 3, +rect.getAttribute("y") + 14, name.slice(0, room / 6.5));
  }
}
area.addEventListener("wheel", event => {
  event.preventDefault();
  const at = from + (event.clientX - area.getBoundingClientRect().left) / area.clientWidth * width;
  const factor = Math.exp(event.deltaY * 0.002);
  const next = Math.min(Math.max(width * factor, whole * 1e-6), whole);
  from = at - (at - from) * next / width;
  width = next;
  show();
}, { passive: false });
area.addEventListener("mousemove", event => {
  if (event.buttons & 1) {
    from -= event.movementX / area.clientWidth * width;
    show();
  }
  if (event.target.firstElementChild && event.target.tagName === "rect")
    said.textContent = event.target.firstElementChild.textContent;
});
area.addEventListener("dblclick", () => { from = 0; width = whole; show(); });
addEventListener("resize", show);
show();
</script>
</body>
</html>
)html";

static const char kTasksKey[] =
    R"html(<p><span class="key forward"></span> forward
<span class="key backward"></span> backward
<span class="key weight"></span> gradients of weights
<span class="key waiting"></span> waiting for another rank.</p>
)html";

static const char kKey[] =
    R"html(<p><span class="key product"></span> products
<span class="key other"></span> other computation
<span class="key link"></span> collectives that are waited for where they stand
<span class="key beside"></span> collectives beside computation.
The wheel zooms, dragging moves, a double click shows all.</p>
)html";

static std::string escape(const std::string &text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      bool isControl = static_cast<unsigned char>(c) < 32 && c != '\n';
      out += isControl ? ' ' : c;
    }
  }
  return out;
}

static std::string format(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Of microseconds.
static std::string formatTime(double time) {
  if (time >= 1e6)
    return format("%.4g s", time * 1e-6);
  return time >= 1e3 ? format("%.4g ms", time * 1e-3) : format("%.4g us", time);
}

namespace {
/// A row of the picture.
struct Track {
  std::string name;
  std::vector<const Json *> events;
};
/// A rank, or a simulation.
struct Owner {
  std::string name;
  std::map<int64_t, Track> tracks;
};
} // namespace

static double getStart(const Json &event) { return event.at("ts"); }
static double getEnd(const Json &event) {
  return event.at("ts").get<double>() + event.at("dur").get<double>();
}

static std::map<int64_t, Owner> sortEvents(const Json &events) {
  std::map<int64_t, Owner> owners;
  for (const Json &event : events) {
    Owner &owner = owners[event.at("pid")];
    Track &track = owner.tracks[event.at("tid")];
    if (event.at("ph") == "X")
      track.events.push_back(&event);
    else if (event.at("ph") != "M")
      continue;
    else
      (event.at("name") == "process_name" ? owner.name : track.name) =
          event.at("args").at("name");
  }
  return owners;
}

/// The description of an event on the page; its name comes first.
static std::string describe(const Json &event) {
  Json args = event.at("args");
  std::string name = event.at("name"), scope = args.value("scope", "");
  // Names of computation have it already.
  if (!scope.empty() && name.find(scope) == std::string::npos)
    name += " " + scope;
  name += "\n" + formatTime(event.at("dur")) + " from " +
          formatTime(getStart(event));
  if (args.contains("GFLOP/s"))
    name += ", " + format("%.4g GFLOP/s", args["GFLOP/s"]);
  if (args.contains("bytes_sent"))
    name += ", a rank sends " +
            std::to_string(args["bytes_sent"].get<int64_t>()) + " bytes";
  if (args.contains("beside_computation"))
    name += ", beside computation";
  if (std::string cause = args.value("cause", ""); !cause.empty())
    name += "\ncause: " + cause;
  return name;
}

/// As the style sheet names it.
static std::string getClass(const Json &event) {
  std::string kind = event.at("cat");
  bool isBeside = event.at("args").contains("beside_computation");
  return kind != "transfer" ? kind : isBeside ? "beside" : "link";
}

/// Of each owner: how long it took, and how long it computed and sent.
static std::string summarize(const std::map<int64_t, Owner> &owners) {
  std::string text = "<table>\n<tr><th></th><th>until the last end</th><th>"
                     "computation drawn</th><th>on links</th></tr>\n";
  for (const auto &[number, owner] : owners) {
    double end = 0, computed = 0, sent = 0;
    for (const auto &[place, track] : owner.tracks)
      for (const Json *event : track.events) {
        // Of a run, tasks hold what else is there.
        if (event->at("cat") == "waiting" || event->at("args").contains("task"))
          continue;
        end = std::max(end, getEnd(*event));
        (event->at("cat") == "transfer" ? sent : computed) +=
            event->at("dur").get<double>();
      }
    text += "<tr><td>" + escape(owner.name) + "</td>";
    for (double time : {end, computed, sent})
      text += "<td>" + formatTime(time) + "</td>";
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

static std::string drawEvent(const Json &event, int row) {
  return "<rect class=\"" + getClass(event) + "\" x=\"" +
         format("%.9g", getStart(event)) + "\" y=\"" +
         std::to_string(row * kRow + 1) + "\" width=\"" +
         format("%.9g", event.at("dur")) + "\" height=\"" +
         std::to_string(kRow - 2) + "\"><title>" + escape(describe(event)) +
         "</title></rect>\n";
}

/// Arrows, as lines from the middle of a row to that of another one.
static std::string
drawArrows(const Json &events,
           const std::map<std::pair<int64_t, int64_t>, int> &rows) {
  std::string lines;
  std::map<std::string, std::string> begun;
  // Starts may come after their ends.
  auto visit = [&](const Json &event, const std::string &end) {
    if (event.at("ph") != end)
      return;
    auto row = rows.find({event.at("pid"), event.at("tid")});
    if (row == rows.end())
      return;
    std::string number = end == "s" ? "1" : "2";
    std::string place =
        " x" + number + "=\"" + format("%.9g", getStart(event)) + "\" y" +
        number + "=\"" + std::to_string(row->second * kRow + kRow / 2) + "\"";
    if (end == "s")
      begun[event.at("id").dump()] = place;
    else if (auto from = begun.find(event.at("id").dump()); from != begun.end())
      lines += "<line" + from->second + place + "/>\n";
  };
  for (const char *end : {"s", "f"})
    for (const Json &event : events)
      visit(event, end);
  return lines;
}

std::string dist::formatPage(const std::string &trace) {
  Json json = Json::parse(trace);
  std::map<int64_t, Owner> owners = sortEvents(json.at("traceEvents"));
  std::string names, rects;
  std::map<std::pair<int64_t, int64_t>, int> rows;
  bool hasTasks = false;
  double whole = 1e-3;
  int row = 0;
  for (const auto &[number, owner] : owners) {
    names += "<div class=\"owner\">" + escape(owner.name) + "</div>\n";
    ++row;
    for (const auto &[place, track] : owner.tracks) {
      names += "<div>" + escape(track.name) + "</div>\n";
      rows[{number, place}] = row;
      for (const Json *event : track.events) {
        hasTasks |= event->at("cat") == "forward";
        whole = std::max(whole, getEnd(*event));
        rects += drawEvent(*event, row);
      }
      ++row;
    }
  }
  std::string height = std::to_string(row * kRow);
  // With the axis of time.
  std::string outer = std::to_string((row + 1) * kRow);
  rects += drawArrows(json.at("traceEvents"), rows);
  return kHead + summarize(owners) + kKey + (hasTasks ? kTasksKey : "") +
         "<div id=\"picture\">\n<div id=\"names\">\n" + names +
         "</div>\n<div id=\"area\" style=\"height: " + outer +
         "px\">\n<svg id=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" "
         "height=\"" +
         height + "\" viewBox=\"0 0 " + format("%.9g", whole) + " " + height +
         "\" preserveAspectRatio=\"none\">\n" + rects +
         "</svg>\n<svg id=\"labels\" xmlns=\"http://www.w3.org/2000/svg\" "
         "height=\"" +
         outer + "\"></svg>\n</div>\n</div>\n<p id=\"said\"></p>\n" + kScript;
}
