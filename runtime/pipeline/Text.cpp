//===- Text.cpp - Tables of pipelines as text -----------------------------===//

#include "dist/Tensor.h"
#include "runtime/pipeline/Table.h"

#include <algorithm>
#include <charconv>
#include <map>

using namespace dist;
using namespace dist::pipeline;

/// Stages and microbatches: a table's memory grows with their product.
static constexpr int32_t kMostNumber = 1 << 20;

static const char *nameOf(Kind kind) {
  static const char *const names[] = {"F", "B", "W", "BW"};
  return names[static_cast<int>(kind)];
}

std::string dist::pipeline::toString(const Task &task) {
  return std::string(nameOf(task.kind)) + " of stage " +
         std::to_string(task.stage) + ", microbatch " +
         std::to_string(task.microbatch);
}

/// PyTorch's letters.
static constexpr std::string_view kLetters = "FIWB";

std::string dist::pipeline::writeTable(const Table &table) {
  std::string text;
  for (const std::vector<Task> &row : table.rows) {
    const char *separator = "";
    for (const Task &task : row) {
      text += separator + std::to_string(task.stage) +
              kLetters[static_cast<int>(task.kind)] +
              std::to_string(task.microbatch);
      separator = ",";
    }
    text += "\n";
  }
  return text;
}

namespace {
/// Reads one text.
class Reader {
public:
  Reader(std::string_view text, const std::string &name)
      : text(text), name(name) {}

  Table read() {
    while (at < text.size()) {
      lineStart = at;
      ++line;
      readRow();
    }
    // Empty lines at the end are none of a rank's.
    while (!table.rows.empty() && table.rows.back().empty())
      table.rows.pop_back();
    finish();
    return std::move(table);
  }

private:
  [[noreturn]] void fail(size_t where, const std::string &why) const {
    throw Error(name + ":" + std::to_string(line) + ":" +
                std::to_string(where - lineStart + 1) + ": " + why);
  }

  char peek() const { return at < text.size() ? text[at] : '\n'; }
  bool take(char wanted) {
    if (peek() != wanted || at == text.size())
      return false;
    ++at;
    return true;
  }
  void skipBlanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\r')
      ++at;
  }

  int32_t readNumber(const char *what) {
    int32_t number = 0;
    auto [end, error] =
        std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error == std::errc::invalid_argument)
      fail(at, std::string("expected the number of a ") + what +
                   ", as in 0F3: stage 0, forward, microbatch 3");
    if (error != std::errc() || number < 0 || number >= kMostNumber)
      fail(at, std::string("the number of a ") + what + " is 0 to " +
                   std::to_string(kMostNumber - 1));
    at = end - text.data();
    return number;
  }

  bool takeWord(std::string_view word) {
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }

  void readTask() {
    size_t start = at;
    int32_t stage = readNumber("stage");
    // What PyTorch adds, and does not compute.
    if (takeWord("WAIT_REDUCE_GRAD") || takeWord("REDUCE_GRAD"))
      return;
    size_t letter = kLetters.find(peek());
    size_t after = at + 1;
    bool isWord = after < text.size() &&
                  (std::isalpha(text[after]) || text[after] == '_');
    if (letter == kLetters.npos || isWord) {
      size_t end = text.find_first_of(",;)\n", at);
      fail(start, "no task: " +
                      std::string(text.substr(
                          start, std::min(end, text.size()) - start)) +
                      "; expected F (forward), I (backward of inputs), W (of "
                      "weights) or B (both) between stage and microbatch");
    }
    ++at;
    int32_t microbatch = readNumber("microbatch");
    table.rows.back().push_back({static_cast<Kind>(letter), stage, microbatch});
    table.places.back().push_back({line, start - lineStart + 1});
  }

  void readCell() {
    if (!take('('))
      return readTask();
    do {
      skipBlanks();
      readTask();
      skipBlanks();
    } while (take(';'));
    if (!take(')'))
      fail(at, "expected ) after tasks in turn");
    takeWord("OVERLAP_F_B");
  }

  void readRow() {
    table.rows.emplace_back();
    table.places.emplace_back();
    do {
      skipBlanks();
      take('"');
      skipBlanks();
      if (peek() != ',' && peek() != '\n' && peek() != '"')
        readCell();
      skipBlanks();
      take('"');
      skipBlanks();
    } while (take(','));
    if (peek() != '\n')
      fail(at, std::string("expected a comma, not '") + peek() + "'");
    ++at;
  }

  void finish() {
    table.source = name;
    std::map<int32_t, std::pair<int32_t, std::pair<int32_t, int32_t>>> owners;
    for (size_t rank = 0; rank < table.rows.size(); ++rank)
      for (size_t i = 0; i < table.rows[rank].size(); ++i) {
        const Task &task = table.rows[rank][i];
        auto place = table.places[rank][i];
        auto [owner, isNew] =
            owners.try_emplace(task.stage, int32_t(rank), place);
        if (!isNew && owner->second.first != int32_t(rank))
          throw Error(name + ":" + std::to_string(place.first) + ":" +
                      std::to_string(place.second) + ": stage " +
                      std::to_string(task.stage) + " is on rank " +
                      std::to_string(rank) + " here, and on rank " +
                      std::to_string(owner->second.first) + " in " +
                      std::to_string(owner->second.second.first) + ":" +
                      std::to_string(owner->second.second.second));
        table.stages = std::max(table.stages, task.stage + 1);
        table.microbatches = std::max(table.microbatches, task.microbatch + 1);
      }
    if (owners.empty())
      throw Error(name + ": a table without tasks; expected a row a rank, as "
                         "in 0F0,0F1,0B0,0B1");
    if (owners.size() != size_t(table.stages)) {
      int32_t missing = 0;
      while (owners.count(missing))
        ++missing;
      throw Error(name + ": no task of stage " + std::to_string(missing) +
                  ", but of stage " + std::to_string(table.stages - 1));
    }
    for (const auto &[stage, owner] : owners)
      table.rankOf.push_back(owner.first);
  }

  std::string_view text;
  const std::string &name;
  size_t at = 0, line = 0, lineStart = 0;
  Table table;
};
} // namespace

Table dist::pipeline::readTable(std::string_view text,
                                const std::string &name) {
  return Reader(text, name).read();
}
