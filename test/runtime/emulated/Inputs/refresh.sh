#!/bin/sh
# Makes PTX of kernels.cpp, with clang 22 and nothing of NVIDIA's:
#   test/runtime/emulated/Inputs/refresh.sh
# kernels.ptx is PTX 7.0, which the drivers of every chip from sm_80 on take;
# kernels_sm_100.ptx has packed instructions of f32.
set -eu
cd "$(dirname "$0")"
compile() { # chip, PTX version, file
  /usr/lib/llvm-22/bin/clang++ --target=nvptx64-nvidia-cuda -march="$1" \
    -Xclang -target-feature -Xclang -ptx88 \
    -Xclang -target-feature -Xclang "+ptx$2" \
    -std=c++20 -O3 -ffp-contract=off -gline-tables-only -nocudalib \
    -fdebug-compilation-dir=. -S kernels.cpp -o - |
    # What debuggers read, of which the executor takes nothing.
    sed -e '/^\t\.section.*}$/d' -e '/^\t\.section/,/^\t}/d' > "$3"
}
compile sm_80 70 kernels.ptx
compile sm_100 86 kernels_sm_100.ptx
