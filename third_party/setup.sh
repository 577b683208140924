# shellcheck shell=bash
# What quickstart and runtests share: the packages, and Bazel called so that it
# is quiet but alive. Sourced, from the root of the checkout.

say() {
  printf '== %s\n' "$*"
}

# Debian's Bazel, whatever else is on PATH.
bazel() {
  /usr/bin/bazel "$@" </dev/null
}

# One line of progress now and then; on a terminal Bazel redraws its own.
bazel_flags=(--noshow_loading_progress --show_result=0 --ui_event_filters=-info)
[ -t 2 ] || bazel_flags+=(--color=no --curses=no --show_progress_rate_limit=15)

# In CI nobody will call the server again; elsewhere it waits a while for the next command.
leave_bazel() {
  [ "${CI:-}" != true ] || bazel shutdown >/dev/null 2>&1 || true
}

install_packages() {
  third_party/install-debian-packages
}
