#!/usr/bin/env bash
# `bazel run //docs/reference:refresh` writes the generated pages into the source
# tree; as a test, this compares them with what is committed there.
set -euo pipefail
here=docs/reference
for page; do
  if [ -n "${BUILD_WORKSPACE_DIRECTORY:-}" ]; then
    install -m 644 "$here/generated/$page.md" "$BUILD_WORKSPACE_DIRECTORY/$here/$page.md"
    printf 'wrote %s/%s.md\n' "$here" "$page"
  else
    diff -u "$here/$page.md" "$here/generated/$page.md" || {
      printf '\n%s/%s.md is not what the .td files say: bazel run //docs/reference:refresh\n' "$here" "$page"
      exit 1
    }
  fi
done
