//===- Timeline.h - Traces as files and pages -------------------*- C++ -*-===//
//
// A trace of a run, or of a machine model's estimate, in the trace event format
// of Perfetto and chrome://tracing. There is a process for each rank. It has a
// thread for computation, and one for each group of axes of collectives. "cat"
// of an event is "product", "other" or "transfer"; of the tasks of a pipeline
// "forward", "backward", "weight" or "waiting". Arrows go from a message's
// start to where it is read.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TIMELINE_H
#define DIST_TIMELINE_H

#include <string>

namespace dist {

/// The events of both traces. The processes of the second get new numbers.
std::string joinTraces(const std::string &first, const std::string &second);

/// A page for a browser that shows the trace: HTML with all that it needs, an
/// SVG, and a script that zooms.
std::string formatPage(const std::string &trace);

/// The contents of a file of this name: a page if it ends in .html, else the
/// trace.
std::string formatTimeline(const std::string &trace, const std::string &path);

} // namespace dist

#endif // DIST_TIMELINE_H
