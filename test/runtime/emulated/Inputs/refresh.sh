#!/bin/sh
# Makes kernels.ptx of kernels.cpp, with clang 22 and nothing of NVIDIA's:
#   test/runtime/emulated/Inputs/refresh.sh
# PTX 7.0, which the drivers of every chip from sm_80 on take.
set -eu
cd "$(dirname "$0")"
/usr/lib/llvm-22/bin/clang++ --target=nvptx64-nvidia-cuda -march=sm_80 \
  -Xclang -target-feature -Xclang -ptx88 -Xclang -target-feature -Xclang +ptx70 \
  -std=c++20 -O3 -ffp-contract=off -gline-tables-only -nocudalib \
  -fdebug-compilation-dir=. -S kernels.cpp -o - |
  # What debuggers read, of which the executor takes nothing.
  sed -e '/^\t\.section.*}$/d' -e '/^\t\.section/,/^\t}/d' > kernels.ptx
