//===- Timeline.h - Traces as files and pages -------------------*- C++ -*-===//
//
// What was done when, of a run or of what a model foresees, is a trace in the
// trace event format, which Perfetto and chrome://tracing show: a process a
// rank, a thread of it for computation and one for each group of axes that
// collectives are over. "cat" of an event is "product", "other" or "transfer".
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TIMELINE_H
#define DIST_TIMELINE_H

#include <string>

namespace dist {

/// The events of both; the processes of the second get numbers that are free.
std::string joinTraces(const std::string &first, const std::string &second);

/// A page for a browser that shows the trace: HTML with all that belongs to it,
/// an SVG, and a script that zooms.
std::string formatPage(const std::string &trace);

/// What a file of this name is to hold: a page where it ends in .html, else the
/// trace.
std::string formatTimeline(const std::string &trace, const std::string &path);

} // namespace dist

#endif // DIST_TIMELINE_H
