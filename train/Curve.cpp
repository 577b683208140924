//===- Curve.cpp - The loss of each step, as a table and a picture --------===//

#include "train/Curve.h"
#include "dist/OutputFile.h"
#include "dist/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace mlir::dist;
namespace host = ::dist;

static constexpr llvm::StringLiteral kHead = "step,loss";

/// Where `path` leads, if that can be written to and is nothing that is read.
static std::string findPlace(const std::string &path) {
  std::string place = host::OutputFolder(path).target();
  // As the one that writes it would find: and its name is free again.
  host::OutputFile probe(path);
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(place, status) &&
      !llvm::sys::fs::is_regular_file(status))
    throw host::Error(path + ": cannot be written: is no file");
  return place;
}

Curve::Curve(const std::string &path, int64_t step) {
  llvm::StringRef name = path;
  if (!name.consume_back(".csv"))
    throw host::Error("--curve " + path + ": its name ends in .csv");
  table = findPlace(path);
  picture = findPlace(name.str() + ".svg");
  constexpr uint64_t kMostBytes = uint64_t(1) << 30;
  uint64_t bytes = 0;
  if (step == 0 || llvm::sys::fs::file_size(table, bytes))
    return;
  if (bytes > kMostBytes)
    throw host::Error("--curve " + path +
                      ": is longer than 1 GiB, and no curve that the run that "
                      "goes on would continue; choose another name");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    throw host::Error("--curve " + path + ": " + buffer.getError().message());
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  if (lines.empty() || lines.front() != kHead)
    throw host::Error("--curve " + path +
                      ": exists and is no curve, which the run that goes on "
                      "would continue; choose another name");
  for (llvm::StringRef line : llvm::drop_begin(lines)) {
    auto [left, right] = line.split(',');
    Point point;
    if (left.getAsInteger(10, point.step) || right.empty() ||
        !llvm::to_float(right, point.loss))
      throw host::Error("--curve " + path + ": '" + line.str() +
                        "' is no step and loss");
    if (point.step < step)
      points.push_back(point);
  }
}

/// The losses as a line, with its ends and its range written beside it.
std::string Curve::draw() const {
  constexpr double kLeft = 70, kTop = 20, kWidth = 700, kHeight = 360;
  double low = INFINITY, high = -INFINITY;
  for (const Point &point : points)
    if (std::isfinite(point.loss)) {
      low = std::min(low, point.loss);
      high = std::max(high, point.loss);
    }
  if (!(low <= high))
    low = high = 0;
  int64_t first = points.empty() ? 0 : points.front().step;
  int64_t last = points.empty() ? 0 : points.back().step;
  std::string text;
  llvm::raw_string_ostream out(text);
  auto write = [&](double x, double y, const char *anchor, auto what) {
    out << llvm::formatv("<text x=\"{0:f1}\" y=\"{1:f1}\" text-anchor=\"{2}\">"
                         "{3}</text>\n",
                         x, y, anchor, what);
  };
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" "
         "height=\"430\" font-family=\"sans-serif\" font-size=\"13\">\n"
      << "<rect width=\"800\" height=\"430\" fill=\"white\"/>\n"
      << llvm::formatv("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" "
                       "stroke=\"black\"/>\n",
                       kLeft, kTop, kTop + kHeight, kLeft + kWidth);
  write(kLeft - 6, kTop + 12, "end", llvm::formatv("{0:f3}", high));
  write(kLeft - 6, kTop + kHeight, "end", llvm::formatv("{0:f3}", low));
  write(kLeft, kTop + kHeight + 18, "start", first);
  write(kLeft + kWidth, kTop + kHeight + 18, "end", last);
  write(kLeft + kWidth / 2, kTop + kHeight + 34, "middle", "step");
  write(kLeft + 8, kTop + 12, "start", "loss");
  out << "<polyline fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.5\" "
         "points=\"";
  double steps = std::max<double>(last - first, 1);
  double range = high > low ? high - low : 1;
  for (const Point &point : points)
    if (std::isfinite(point.loss))
      out << llvm::formatv("{0:f2},{1:f2} ",
                           kLeft + kWidth * (point.step - first) / steps,
                           kTop + kHeight * (high - point.loss) / range);
  out << "\"/>\n</svg>\n";
  return text;
}

/// In place of what an earlier checkpoint of the run wrote there.
static void writeWhole(const std::string &path, const std::string &text) {
  host::TemporaryPath made(host::TemporaryPath::beside(path));
  std::FILE *file = std::fopen(made.path().c_str(), "w");
  bool isWritten =
      file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) != 0)
    isWritten = false;
  if (!isWritten || std::rename(made.path().c_str(), path.c_str()) != 0)
    throw host::Error(path + ": " + std::strerror(errno));
}

void Curve::writeSometimes() {
  if (std::chrono::steady_clock::now() >= next)
    write();
}

void Curve::write() {
  // A run that fails before its first step replaces no earlier curve.
  if (points.empty())
    return;
  auto began = std::chrono::steady_clock::now();
  std::string text = (kHead + "\n").str();
  for (const Point &point : points) {
    char line[64];
    std::snprintf(line, sizeof line, "%lld,%.17g\n",
                  static_cast<long long>(point.step), point.loss);
    text += line;
  }
  writeWhole(table, text);
  writeWhole(picture, draw());
  using Clock = std::chrono::steady_clock;
  Clock::duration taken = Clock::now() - began;
  next = Clock::now() +
         std::max<Clock::duration>(std::chrono::seconds(1), 20 * taken);
}
