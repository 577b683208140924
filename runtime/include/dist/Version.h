//===- Version.h - The version of dist --------------------------*- C++ -*-===//

#ifndef DIST_VERSION_H
#define DIST_VERSION_H

namespace dist {

/// MAJOR.MINOR.PATCH (semantic versioning); all tools print it with --version.
inline constexpr char kVersion[] = "0.1.0";

} // namespace dist

#endif // DIST_VERSION_H
