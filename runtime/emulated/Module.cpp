//===- Module.cpp - A module and its variables ----------------------------===//

#include "runtime/emulated/Parser.h"

using namespace dist;
using namespace dist::emulated;

/// Frees the variables of a module, also of one half parsed.
static void release(const Code &code, Memory &memory) {
  for (const auto &[name, variable] : code.variables)
    if (variable.space != Space::Shared && variable.bytes &&
        memory.find(variable.address, variable.bytes))
      memory.remove(reinterpret_cast<const void *>(variable.address));
  for (void *buffer : code.buffers)
    std::free(buffer);
}

Module::Module(std::string_view ptx, std::string name, Memory &memory)
    : code(std::make_unique<Code>()), memory(memory) {
  code->name = std::move(name);
  try {
    Parser(ptx, *code, memory).parse();
  } catch (...) {
    release(*code, memory);
    throw;
  }
}

Module::~Module() { release(*code, memory); }

const std::string &Module::name() const { return code->name; }

std::vector<const Kernel *> Module::kernels() const {
  std::vector<const Kernel *> kernels;
  for (const Function &function : code->functions)
    if (function.isKernel && function.isDefined)
      kernels.push_back(&function.interface);
  return kernels;
}

const Kernel &Module::kernel(const std::string &name) const {
  std::string known;
  for (const Kernel *kernel : kernels()) {
    if (kernel->name == name)
      return *kernel;
    known += " " + kernel->name;
  }
  throw Error(code->name + ": there is no kernel '" + name + "'; known are:" +
              known);
}

std::pair<void *, uint64_t> Module::variable(const std::string &name) const {
  auto it = code->variables.find(name);
  if (it == code->variables.end() || it->second.space == Space::Shared)
    return {nullptr, 0};
  return {reinterpret_cast<void *>(it->second.address), it->second.bytes};
}
