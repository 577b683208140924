#!/usr/bin/python3
"""Makes a folder that a bare machine with a GPU needs to try dist's code on it: run.py, dist-exec with its libraries, bundles,
and results of the CPU to compare with.

    bazel build //tools/... //test/generator/fuzz:dist-fuzz
    benchmarks/gpu/pack.py [FOLDER]          build/gpu, of at most 20 MiB, in a few minutes
    python3 build/gpu/run.py                 there: 9 minutes at most, on any machine with a GPU and its driver
    python3 build/gpu/run.py --driver emulated --only right      here, without a GPU

Inputs that are not packed come from seeds, on both sides alike. Run it from the repository's root.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join("test"))
sys.path.insert(0, os.path.join("test", "generator"))
TOOLS = os.path.abspath("bazel-bin/tools")
MOST_MIB = 20
RANDOM_PROGRAMS = 60
# More ranks than one: on one GPU collectives go by the host's memory.
SCHEDULES = ["gpt2/tp", "llama/ring", "mixtral/ep", "unet/rows", "graph/parts"]


def run(tool, *arguments):
    done = subprocess.run([os.path.join(TOOLS, tool), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"pack.py: {tool} {' '.join(arguments)}: {done.stderr[-2000:]}")


class Pack:
    def __init__(self, folder, work):
        self.folder, self.work, self.cases = folder, work, []

    def add(self, kind, name, module, *options, inputs=(), records=True, weights=None, **facts):
        """A bundle for a GPU, and what its program for the CPU gives."""
        bundle = os.path.join(self.folder, "bundles", name + ".dist")
        run("dist-compile", module, "--target", "cuda", "-o", bundle, *options)
        if records:
            cpu = os.path.join(self.work, name + ".cpu.dist")
            run("dist-compile", module, "-o", cpu, *options)
            results = os.path.join(self.folder, "results", name)
            run("dist-exec", cpu, *inputs, "--random=1", "--output", results)
        packed = []
        for option in inputs:
            if ".npy" in option:
                key, path = option.removeprefix("--input=").split("=", 1)
                copy = os.path.join("inputs", f"{name}.{key}.npy")
                os.makedirs(os.path.join(self.folder, "inputs"), exist_ok=True)
                shutil.copyfile(path, os.path.join(self.folder, copy))
                option = f"--input={key}={copy}"
            packed.append(option)
        if weights:
            copy = os.path.join("weights", os.path.basename(weights))
            os.makedirs(os.path.join(self.folder, "weights"), exist_ok=True)
            shutil.copyfile(weights, os.path.join(self.folder, copy))
            packed.append(f"--weights={copy}")
        self.cases.append({"kind": kind, "name": name, "options": packed, **facts})


def add_models(pack, work):
    for path in sorted(glob.glob("examples/*/*.dynamo.onnx")):
        model = path.split("/")[1]
        module = os.path.join(work, model + ".mlir")
        run("dist-import", path, "-o", module)
        inputs = []
        for file in sorted(glob.glob(f"examples/{model}/inputs0/*.npy")):
            inputs.append(f"--input={os.path.basename(file).removesuffix('.npy')}={file}")
        weights = module.replace(".mlir", ".safetensors")
        pack.add("right", model, module, inputs=inputs, weights=weights)
        for schedule in (name for name in SCHEDULES if name.startswith(model + "/")):
            name = schedule.replace("/", "_")
            pack.add("ranks", name, module, "--schedule", f"examples/{schedule}.mlir", inputs=inputs, weights=weights)


def add_random_programs(pack, work):
    import run_lowered

    fuzz = os.path.abspath("bazel-bin/test/generator/fuzz/dist-fuzz")
    text = subprocess.run([fuzz, "--seed=70000", f"--count={RANDOM_PROGRAMS}", "--print"], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^// seed (\d+)$", text, flags=re.M)[1:]
    for seed, module in zip(parts[::2], parts[1::2]):
        path = os.path.join(work, f"random_{seed}.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(module)
        folder = os.path.join(work, f"inputs_{seed}")
        os.mkdir(folder)
        options = iter(run_lowered.inputs_of(module, folder))
        inputs = [f"--input={value}" for option, value in zip(options, options)]
        try:
            pack.add("random", f"random_{seed}", path, "--f64", inputs=inputs)
        except SystemExit:
            continue  # placement may refuse a random program


ROWS = """
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<65536x1024xf32> {dist.input = "x"}) -> (tensor<65536x1024xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %rows = tensor.empty() : tensor<65536xf32>
  %empty = tensor.empty() : tensor<65536x1024xf32>
  %m0 = linalg.fill ins(%least : f32) outs(%rows : tensor<65536xf32>) -> tensor<65536xf32>
  %m = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<65536x1024xf32>) outs(%m0 : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<65536xf32>
  %e = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<65536x1024xf32>, tensor<65536xf32>) outs(%empty : tensor<65536x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<65536x1024xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<65536xf32>) -> tensor<65536xf32>
  %s = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<65536x1024xf32>) outs(%s0 : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<65536xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%e, %s : tensor<65536x1024xf32>, tensor<65536xf32>) outs(%empty : tensor<65536x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<65536x1024xf32>
  return %y : tensor<65536x1024xf32>
}
"""
COPY = """
func.func @main(%x: tensor<65536x1024xf32> {dist.input = "x"}) -> (tensor<65536x1024xf32> {dist.output = "y"}) {
  %y = arith.addf %x, %x : tensor<65536x1024xf32>
  return %y : tensor<65536x1024xf32>
}
"""
TRANSPOSE = """
func.func @main(%x: tensor<8192x8192xf32> {dist.input = "x"}) -> (tensor<8192x8192xf32> {dist.output = "y"}) {
  %empty = tensor.empty() : tensor<8192x8192xf32>
  %y = linalg.transpose ins(%x : tensor<8192x8192xf32>) outs(%empty : tensor<8192x8192xf32>) permutation = [1, 0]
  return %y : tensor<8192x8192xf32>
}
"""
COLUMNS = """
func.func @main(%x: tensor<65536x1024xf32> {dist.input = "x"}) -> (tensor<1024xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %y = linalg.reduce { arith.addf } ins(%x : tensor<65536x1024xf32>) outs(%fill : tensor<1024xf32>) dimensions = [0]
  return %y : tensor<1024xf32>
}
"""
PRODUCT = """
func.func @main(%a: tensor<NxNxTYPE> {dist.input = "a"}, %b: tensor<NxNxTYPE> {dist.input = "b"}) -> (tensor<NxNxTYPE> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : TYPE
  %empty = tensor.empty() : tensor<NxNxTYPE>
  %fill = linalg.fill ins(%zero : TYPE) outs(%empty : tensor<NxNxTYPE>) -> tensor<NxNxTYPE>
  %y = linalg.matmul ins(%a, %b : tensor<NxNxTYPE>, tensor<NxNxTYPE>) outs(%fill : tensor<NxNxTYPE>) -> tensor<NxNxTYPE>
  return %y : tensor<NxNxTYPE>
}
"""


def add_speed(pack, work):
    mib = 65536 * 1024 * 4
    programs = {
        "twice": (COPY, {"bytes": 2 * mib}),
        "softmax": (ROWS, {"bytes": 2 * mib}),
        "transpose": (TRANSPOSE, {"bytes": 2 * mib}),
        "column_sums": (COLUMNS, {"bytes": mib}),
        "product_bf16": (PRODUCT.replace("NxN", "8192x8192").replace("TYPE", "bf16"), {"flops": 2 * 8192**3, "torch": [8192, "bfloat16"]}),
        "product_f32": (PRODUCT.replace("NxN", "4096x4096").replace("TYPE", "f32"), {"flops": 2 * 4096**3, "torch": [4096, "float32"]}),
    }
    for name, (text, facts) in programs.items():
        path = os.path.join(work, name + ".mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        pack.add("speed", name, path, records=False, **facts)


def add_programs(folder):
    os.makedirs(os.path.join(folder, "bin"))
    os.makedirs(os.path.join(folder, "lib"))
    for tool in ("dist-exec", "dist-driver-emulated.so"):
        shutil.copyfile(os.path.join(TOOLS, tool), os.path.join(folder, "bin", tool))
    os.chmod(os.path.join(folder, "bin", "dist-exec"), 0o755)
    linked = subprocess.run(["ldd", os.path.join(TOOLS, "dist-exec")], capture_output=True, text=True, check=True).stdout
    for name, path in re.findall(r"(\S+) => (/\S+)", linked):
        # The machine has its own C library.
        if not re.match(r"lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s)\.so", name):
            shutil.copyfile(path, os.path.join(folder, "lib", name))
    shutil.copyfile(os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py"), os.path.join(folder, "run.py"))
    # Compressed, so that the whole is small: run.py unpacks them.
    with tarfile.open(os.path.join(folder, "programs.tar.xz"), "w:xz") as archive:
        for part in ("bin", "lib"):
            archive.add(os.path.join(folder, part), part)
            shutil.rmtree(os.path.join(folder, part))


def main():
    if len(sys.argv) > 2 or "--help" in sys.argv or "-h" in sys.argv:
        sys.exit(__doc__)
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/gpu")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "bundles"))
    with tempfile.TemporaryDirectory() as work:
        pack = Pack(folder, work)
        for add in (add_models, add_random_programs, add_speed):
            add(pack, work)
            print(f"{len(pack.cases)} programs", flush=True)
    with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as file:
        json.dump(pack.cases, file, indent=1)
    add_programs(folder)
    size = sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)
    print(f"{folder}: {len(pack.cases)} programs, {size / (1 << 20):.1f} MiB")
    return size > MOST_MIB << 20


if __name__ == "__main__":
    sys.exit(main())
