//===- Curve.h - The loss of each step, as a table and a picture *- C++ -*-===//

#ifndef DIST_TRAIN_CURVE_H
#define DIST_TRAIN_CURVE_H

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::dist {

class Curve {
public:
  /// `path` ends in .csv; beside it comes one in .svg. A run that goes on from
  /// `step` keeps the rows before it of a file that is there. Throws Error,
  /// also where the two could not be written.
  Curve(const std::string &path, int64_t step);

  void add(int64_t step, double loss) { points.push_back({step, loss}); }
  /// Writes both files.
  void write();
  /// The same, if it is a second or more since; it takes no more than a
  /// twentieth of the time.
  void writeSometimes();

private:
  struct Point {
    int64_t step;
    double loss;
  };
  std::string draw() const;

  std::vector<Point> points;
  std::chrono::steady_clock::time_point next = {};
  /// Where the table and the picture really are, or will be.
  std::string table, picture;
};

} // namespace mlir::dist

#endif // DIST_TRAIN_CURVE_H
