//===- OptionValues.h - Values of shared command-line options ---*- C++ -*-===//
//
// Values of --input of dist-exec and dist-run. Separate from the executor
// because .pb files need protobuf.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_OPTIONVALUES_H
#define DIST_OPTIONVALUES_H

#include "dist/Launcher.h"

#include <map>
#include <optional>
#include <vector>

namespace dist {

/// The range of a tensor's integers: one for all, or one for each place along
/// dimension `dim`.
struct IntegerRanges {
  std::vector<IntegerRange> ranges = {{}};
  size_t dim = 0;
};

/// The range of integers without further information.
IntegerRange usualRange(int bits, bool isUnsigned);

/// Random values, if the options leave them open.
struct RandomInputs {
  /// Ranges of integer inputs, by name; others have usualRange. i1 is always
  /// from {0, 1}.
  std::map<std::string, IntegerRanges> ranges;
  /// Seed of inputs that no option names; without it they are missing. Inputs
  /// of different names get different values.
  std::optional<uint64_t> rest;
};

/// The forms of --input, for help and messages.
inline constexpr char inputForms[] =
    "NAME=FILE.npy, NAME=FILE.pb, NAME=NUMBER, NAME=random[:SEED] or "
    "NAME=random(LOW,HIGH)[:SEED]";
inline constexpr char rangeHelp[] =
    "; integers from LOW to HIGH, both included, floats uniformly between "
    "them; once for each input";

/// What --help says of other options of both.
inline constexpr char randomHelp[] =
    "Random values for inputs that --input does not give";
inline constexpr char backendHelp[] =
    "What runs the ranks: threads of this process (default), processes of this "
    "host, mpi, where mpirun or srun starts this program, or cuda, this host's "
    "GPUs";
inline constexpr char bindAddressHelp[] =
    "With --backend mpi on several hosts: the IPv4 address of rank 0's host at "
    "which others reach it";
inline constexpr char mpiHelp[] =
    "With --backend mpi: openmpi or mpich; needed where both are installed and "
    "neither's starter, but srun, has started the processes";
inline constexpr char inputsHelp[] =
    "With --backend mpi, who reads the files of --input: shared, each rank its "
    "part (default), or root, rank 0, which sends others theirs";
inline constexpr char driverHelp[] =
    "With --backend cuda: emulated, which runs the GPU's code without a GPU, "
    "emulated:reverse or emulated:SEED in another order, or a library's path "
    "(default: NVIDIA's driver)";
inline constexpr char graphHelp[] =
    "With --backend cuda: what is a graph of the driver: compute, kernels and "
    "products between two collectives (default); off, nothing";
inline constexpr char reductionsHelp[] =
    "Sums of floats over ranks: place, in the order of ranks, with the same "
    "bits everywhere (default); mpi, as MPI has them, with --backend mpi: "
    "floats may differ by rounding";
inline constexpr char portHelp[] =
    "With --backend mpi: the port at which rank 0 listens; 0: any that is free";
inline constexpr char processesHelp[] =
    "As --backend processes: as many processes as the mesh has devices";
inline constexpr char timeoutHelp[] =
    "Seconds that a rank's process may be stopped before the run fails (60), "
    "and that GPUs may wait for each other (600)";
inline constexpr char repeatHelp[] = "How often to run, on the same inputs";
inline constexpr char profileHelp[] =
    "Say where the time of the last run goes: kernels, products and "
    "collectives, by module";
inline constexpr char jsonHelp[] = "Last line is one JSON object";

/// Splits NAME=VALUE. Names may contain '=': the name is the longest of `names`
/// that the option begins with, else it ends at the first '='. Without '=' all
/// is the name.
std::pair<std::string, std::string>
splitNamed(const std::string &option, const std::vector<std::string> &names);

/// Parses the value of --random: "" is seed 0. Throws Error.
uint64_t parseSeed(const std::string &text);

/// Reads options of the forms above. The dtype and shape of numbers and random
/// values are those of the program's input. Integers are from LOW to HIGH, both
/// included; floats are uniformly distributed between them. Throws Error for
/// options that are malformed, given twice, or name no input of the program. A
/// file that this process leaves to another gives a tensor without data.
Inputs readInputs(const std::vector<std::string> &options,
                  const Manifest &manifest, const RandomInputs &random = {},
                  InputFiles files = InputFiles::Read);

/// Throws Error as readInputs does. Makes no tensors but those of files.
void checkInputs(const std::vector<std::string> &options, Manifest manifest);

/// Random values, with integers in the given ranges.
Tensor makeRandom(dist_dtype dtype, const Shape &shape, uint64_t seed,
                  const IntegerRanges &ranges);

/// Descriptions of the inputs that options and `random` make random, by name:
/// "random integers from 0 to 63, 0 to 3 by column". Inputs whose option has
/// the range, bools, and floats of the normal distribution are left out.
std::map<std::string, std::string>
describeRandom(const std::vector<std::string> &options,
               const Manifest &manifest, const RandomInputs &random);

/// The shapes of the inputs that files give; `names` are those of the program.
/// Throws Error for files that cannot be read.
std::map<std::string, Shape>
readInputShapes(const std::vector<std::string> &options,
                const std::vector<std::string> &names);

} // namespace dist

#endif // DIST_OPTIONVALUES_H
