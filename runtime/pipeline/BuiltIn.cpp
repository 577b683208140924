//===- BuiltIn.cpp - The tables of pipelines that are built in ------------===//

#include "dist/Tensor.h"
#include "runtime/pipeline/ListSchedule.h"
#include "runtime/pipeline/Table.h"

#include <algorithm>

using namespace dist;
using namespace dist::pipeline;

static Table makeEmpty(int32_t ranks, int32_t microbatches,
                       int32_t chunks = 1) {
  Table table;
  table.stages = ranks * chunks;
  table.microbatches = microbatches;
  for (int32_t stage = 0; stage < table.stages; ++stage)
    table.rankOf.push_back(stage % ranks);
  table.rows.resize(ranks);
  return table;
}

std::vector<Transfer> dist::pipeline::chain(int32_t stages) {
  std::vector<Transfer> all;
  for (int32_t stage = 0; stage + 1 < stages; ++stage) {
    all.push_back({Kind::Forward, stage, Kind::Forward, stage + 1});
    all.push_back({Kind::Backward, stage + 1, Kind::Backward, stage});
  }
  return all;
}

Table dist::pipeline::makeGpipe(int32_t ranks, int32_t microbatches) {
  Table table = makeEmpty(ranks, microbatches);
  for (int32_t rank = 0; rank < ranks; ++rank)
    for (Kind kind : {Kind::Forward, Kind::Both})
      for (int32_t i = 0; i < microbatches; ++i)
        table.rows[rank].push_back({kind, rank, i});
  return table;
}

Table dist::pipeline::make1F1B(int32_t ranks, int32_t microbatches) {
  Table table = makeEmpty(ranks, microbatches);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Task> &row = table.rows[rank];
    int32_t ahead = std::min(ranks - 1 - rank, microbatches);
    for (int32_t i = 0; i < microbatches + ahead; ++i) {
      if (i < microbatches)
        row.push_back({Kind::Forward, rank, i});
      if (i >= ahead)
        row.push_back({Kind::Both, rank, i - ahead});
    }
  }
  return table;
}

Table dist::pipeline::makeInterleaved(int32_t ranks, int32_t microbatches,
                                      int32_t chunks) {
  Table table = makeEmpty(ranks, microbatches, chunks);
  // Groups of microbatches that pass a chunk together.
  int32_t first =
      microbatches < 2 * ranks ? microbatches : ranks + microbatches % ranks;
  std::vector<Task> forward, back;
  for (int32_t begin = 0, size = first; begin < microbatches;
       begin += size, size = ranks)
    for (int32_t chunk = 0; chunk < chunks; ++chunk)
      for (int32_t i = begin; i < begin + (begin ? ranks : first); ++i) {
        forward.push_back({Kind::Forward, chunk, i});
        back.push_back({Kind::Both, chunks - 1 - chunk, i});
      }
  auto turns = static_cast<int32_t>(forward.size());
  for (int32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Task> &row = table.rows[rank];
    auto add = [&](Task task) {
      task.stage = task.stage * ranks + rank; // it was the chunk
      row.push_back(task);
    };
    int32_t ahead =
        std::min(2 * (ranks - 1 - rank) + (chunks - 1) * first, turns);
    for (int32_t i = 0; i < turns + ahead; ++i) {
      if (i < turns)
        add(forward[i]);
      if (i >= ahead)
        add(back[i - ahead]);
    }
  }
  return table;
}

Table dist::pipeline::makeZbH1(int32_t ranks, int32_t microbatches) {
  Table table = makeEmpty(ranks, microbatches);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    int32_t done[3] = {0, 0, 0};
    auto add = [&](Kind kind) {
      int32_t &next = done[static_cast<int>(kind)];
      if (next < microbatches)
        table.rows[rank].push_back({kind, rank, next++});
    };
    for (int32_t i = 0; i < ranks - rank; ++i)
      add(Kind::Forward);
    for (int32_t i = 0; i < rank; ++i) {
      add(Kind::Backward);
      add(Kind::Forward);
    }
    while (done[2] < microbatches) {
      add(Kind::Backward);
      add(Kind::Weight);
      add(Kind::Forward);
    }
  }
  return table;
}

Table dist::pipeline::makeZbV(int32_t ranks, int32_t microbatches) {
  Table table = makeEmpty(ranks, microbatches, /*chunks=*/2);
  for (int32_t rank = 0; rank < ranks; ++rank)
    table.rankOf[2 * ranks - 1 - rank] = rank;
  if (microbatches < 2 * ranks)
    return scheduleList(table);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    int32_t stages[] = {rank, 2 * ranks - 1 - rank};
    int32_t done[3][2] = {};
    auto add = [&](Kind kind, int chunk) {
      int32_t &next = done[static_cast<int>(kind)][chunk];
      if (next < microbatches)
        table.rows[rank].push_back({kind, stages[chunk], next++});
    };
    auto addAll = [&](int chunk) {
      add(Kind::Forward, chunk);
      add(Kind::Backward, chunk);
      add(Kind::Weight, chunk);
    };
    int32_t(&forward)[2] = done[0];
    for (int32_t i = 0; i < 2 * (ranks - rank) - 1; ++i)
      add(Kind::Forward, 0);
    for (int32_t i = 0; i < rank; ++i) {
      add(Kind::Forward, 1);
      add(Kind::Forward, 0);
    }
    for (int32_t i = 0; i < ranks - rank; ++i)
      addAll(1);
    while (forward[1] < forward[0] || forward[0] < microbatches) {
      addAll(0);
      addAll(1);
    }
    for (int32_t i = 0; i < rank; ++i) {
      add(Kind::Backward, 0);
      add(Kind::Backward, 1);
    }
    for (int32_t i = 0; i < ranks - rank; ++i) {
      add(Kind::Backward, 0);
      add(Kind::Weight, 0);
    }
    for (int chunk : {1, 0})
      while (done[2][chunk] < done[1][chunk])
        add(Kind::Weight, chunk);
  }
  return table;
}

Table dist::pipeline::makeTable(std::string_view name, int32_t ranks,
                                int32_t microbatches, int32_t chunks,
                                bool hasBackward) {
  constexpr int64_t kMost = 1 << 22;
  int64_t stages = int64_t(ranks) * (name == "zb_v" ? 2 : chunks);
  if (stages > kMost / std::max(microbatches, 1))
    throw Error(std::to_string(stages) + " stages of " +
                std::to_string(microbatches) +
                " microbatches are more than a table has (4194304)");
  if (!hasBackward && (name == "zb_h1" || name == "zb_v"))
    throw Error("\"" + std::string(name) +
                "\" is for gradients, which the program has none of: give "
                "\"gpipe\"");
  if (!hasBackward)
    return makeForward(ranks, microbatches, chunks);
  if (name == "gpipe")
    return makeGpipe(ranks, microbatches);
  if (name == "1f1b")
    return make1F1B(ranks, microbatches);
  if (name == "interleaved")
    return makeInterleaved(ranks, microbatches, chunks);
  if (name == "zb_h1")
    return makeZbH1(ranks, microbatches);
  if (name != "zb_v")
    throw Error("there is no table '" + std::string(name) + "'");
  return makeZbV(ranks, microbatches);
}

Table dist::pipeline::makeForward(int32_t ranks, int32_t microbatches,
                                  int32_t chunks) {
  Table table = makeEmpty(ranks, microbatches, chunks);
  // In groups of as many as there are ranks, none waits longer than the
  // pipeline fills.
  for (int32_t rank = 0; rank < ranks; ++rank)
    for (int32_t begin = 0; begin < microbatches; begin += ranks)
      for (int32_t chunk = 0; chunk < chunks; ++chunk)
        for (int32_t i = begin; i < std::min(begin + ranks, microbatches); ++i)
          table.rows[rank].push_back({Kind::Forward, chunk * ranks + rank, i});
  return table;
}
