//===- OutputFileTest.cpp - Files that appear whole or not at all ---------===//

#include "dist/Npy.h"
#include "dist/OnnxTensor.h"
#include "dist/OutputFile.h"
#include "dist/Safetensors.h"
#include "test/runtime/Bundles.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dist;
using namespace dist::test;

namespace {

/// A folder of its own for each test.
fs::path makeFolder() {
  fs::path folder =
      fs::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::create_directories(folder);
  return folder;
}

void write(const fs::path &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

int64_t countFiles(const fs::path &folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

TEST(OutputFile, AppearsWholeOrNotAtAll) {
  fs::path folder = makeFolder(), path = folder / "out";
  write(path, "earlier");
  {
    OutputFile file(path.string());
    file.write("half", 4);
    EXPECT_EQ(readFile(path), "earlier");
  }
  EXPECT_EQ(readFile(path), "earlier");
  EXPECT_EQ(countFiles(folder), 1);
  OutputFile file(path.string());
  file.write("whole", 5);
  file.commit();
  EXPECT_EQ(readFile(path), "whole");
  EXPECT_EQ(countFiles(folder), 1);
  // As umask says.
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(info.st_mode & 0777, 0666u & ~mask);
}

TEST(OutputFile, LinksStayAndWhatIsNoFileIsWrittenTo) {
  fs::path folder = makeFolder();
  write(folder / "target", "earlier");
  fs::create_symlink("target", folder / "link");
  OutputFile file((folder / "link").string());
  file.write("new", 3);
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(readFile(folder / "target"), "new");
  // Also one whose target is not there yet, over several links.
  fs::create_symlink("sub/link", folder / "first");
  fs::create_directory(folder / "sub");
  fs::create_symlink("../new", folder / "sub/link");
  {
    OutputFile dangling((folder / "first").string());
    EXPECT_TRUE(
        contains(errorOf([&] { OutputFile{(folder / "new").string()}; }),
                 "two outputs would be this file"));
    dangling.write("made", 4);
    dangling.commit();
  }
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_EQ(readFile(folder / "new"), "made");
  fs::create_symlink("loop", folder / "loop");
  EXPECT_TRUE(contains(errorOf([&] { OutputFile{(folder / "loop").string()}; }),
                       "leads nowhere but to itself"));
  OutputFile null("/dev/null");
  null.write("gone", 4);
  null.commit();
  OutputFile full("/dev/full");
  EXPECT_EQ(errorOf([&] { full.write("x", 1); }),
            "/dev/full: cannot be written: No space left on device");
}

TEST(OutputFile, ReplacesNoInputAndNoOutput) {
  fs::path folder = makeFolder();
  write(folder / "in", "data");
  fs::create_hard_link(folder / "in", folder / "other");
  fs::create_symlink("in", folder / "link");
  noteInput((folder / "in").string());
  for (const char *name : {"in", "other", "link"})
    EXPECT_TRUE(contains(errorOf([&] { OutputFile{(folder / name).string()}; }),
                         "in', which is an input; choose another name"));
  // Also one that is read later.
  write(folder / "late", "data");
  OutputFile late((folder / "late").string());
  noteInput((folder / "late").string());
  EXPECT_TRUE(contains(errorOf([&] { late.commit(); }), "which is an input"));
  EXPECT_TRUE(contains(errorOf([&] { checkHoldsNoInput(folder.string()); }),
                       "would replace"));
  OutputFile((folder / "new").string()).commit();
  EXPECT_TRUE(
      contains(errorOf([&] { OutputFile{(folder / "new").string()}; }),
               "new: two outputs would be this file; choose another name"));
}

TEST(OutputFile, SeveralAtOnce) {
  fs::path folder = makeFolder();
  OutputFile first((folder / "first").string());
  OutputFile second((folder / "second").string());
  EXPECT_EQ(countFiles(folder), 2);
  EXPECT_FALSE(fs::exists(folder / "first"));
  EXPECT_TRUE(
      contains(errorOf([&] { OutputFile{(folder / "./first").string()}; }),
               "first: two outputs would be this file"));
  OutputFile::commit({&first, &second});
  EXPECT_TRUE(fs::exists(folder / "first") && fs::exists(folder / "second"));
  EXPECT_EQ(countFiles(folder), 2);
}

TEST(OutputFile, NamesWithAZeroByteAreRefused) {
  fs::path folder = makeFolder();
  write(folder / "a", "earlier");
  std::string name = (folder / "a").string() + '\0' + "b";
  EXPECT_TRUE(
      contains(errorOf([&] { OutputFile{name}; }), "a name with a zero byte"));
  EXPECT_TRUE(
      contains(errorOf([&] { readNpy(name); }), "a name with a zero byte"));
  EXPECT_EQ(readFile(folder / "a"), "earlier");
}

TEST(OutputFile, NamesMayBeAsLongAsTheSystemsAre) {
  fs::path path = makeFolder() / std::string(255, 'x');
  OutputFile file(path.string());
  file.commit();
  EXPECT_TRUE(fs::exists(path));
}

TEST(OutputFile, StandardOutputIsOneFile) {
  {
    OutputFile first("-");
    EXPECT_TRUE(contains(errorOf([] { OutputFile{"-"}; }),
                         "standard output: two outputs would be this file"));
  }
  OutputFile("-").commit();
}

TEST(OutputFolder, IsNoFilesAndHoldsNoOtherOutput) {
  fs::path folder = makeFolder(), real = folder / "real";
  fs::create_symlink("real", folder / "link");
  auto errorOfFile = [&](const char *name) {
    return errorOf([&] { OutputFile{(folder / name).string()}; });
  };
  {
    OutputFolder output((folder / "link").string());
    EXPECT_EQ(output.target(), fs::canonical(folder) / "real");
    EXPECT_TRUE(contains(errorOfFile("real"), "would lie in the output"));
    fs::create_directory(real);
    EXPECT_TRUE(contains(errorOfFile("real/x"), "would lie in the output"));
    EXPECT_EQ(errorOfFile("realer"), "");
  }
  OutputFile inside((real / "x").string());
  EXPECT_TRUE(contains(errorOf([&] { OutputFolder{real.string()}; }),
                       "real/x' is an output as well"));
}

TEST(TemporaryPath, GoesWithAllThatIsInIt) {
  fs::path folder = makeFolder();
  {
    TemporaryPath path(TemporaryPath::beside((folder / "x").string()));
    fs::create_directories(fs::path(path.path()) / "a/b");
    write(fs::path(path.path()) / "a/b/file", "text");
    fs::create_symlink(folder, fs::path(path.path()) / "a/link");
    EXPECT_EQ(countFiles(folder), 1);
  }
  EXPECT_EQ(countFiles(folder), 0);
}

TEST(TemporaryPath, IsNotThatOfAnEarlierProcessOfTheSameNumber) {
  // What follows the number of the process, from two that have counted alike.
  auto getSuffix = [] {
    std::string name = TemporaryPath::beside("x");
    return name.substr(name.find('-', std::string("x.tmp-").size()));
  };
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    std::string name = getSuffix();
    _exit(::write(ends[1], name.data(), name.size()) < 0);
  }
  std::string mine = getSuffix();
  char theirs[64] = {};
  ASSERT_GT(read(ends[0], theirs, sizeof theirs - 1), 0);
  waitpid(child, nullptr, 0);
  EXPECT_NE(mine, theirs);
}

TEST(Inputs, ThatAreNoFilesAreRefusedAtOnce) {
  fs::path folder = makeFolder();
  std::string fifo = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string &path : {fifo, std::string("/dev/zero")}) {
    EXPECT_TRUE(
        contains(errorOf([&] { readNpy(path); }), "not a regular file"));
    EXPECT_TRUE(
        contains(errorOf([&] { readOnnxTensor(path); }), "not a regular file"));
    EXPECT_TRUE(
        contains(errorOf([&] { Safetensors{path}; }), "not a regular file"));
    EXPECT_TRUE(
        contains(errorOf([&] { Manifest::read(path); }), "not a regular file"));
  }
}

TEST(Inputs, ThatChangeWhileTheyAreReadAreErrors) {
  fs::path folder = makeFolder();
  writeWeights(folder / "w");
  // Whose time of writing is put back; but not one that another replaced.
  Safetensors replaced((folder / "w").string());
  EXPECT_EQ(errorOf([&] { replaced.checkUnchanged(); }), "");
  write(folder / "new", readFile(folder / "w"));
  fs::rename(folder / "new", folder / "w");
  EXPECT_EQ(errorOf([&] { replaced.checkUnchanged(); }), "");
  Safetensors rewritten((folder / "w").string());
  auto time = fs::last_write_time(folder / "w");
  std::fstream(folder / "w", std::ios::in | std::ios::out) << '\0';
  fs::last_write_time(folder / "w", time);
  EXPECT_TRUE(
      contains(errorOf([&] { rewritten.checkUnchanged(); }), "was written to"));
  writeWeights(folder / "v");
  Safetensors weights((folder / "v").string());
  fs::resize_file(folder / "v", 400);
  EXPECT_TRUE(contains(errorOf([&] { weights.checkUnchanged(); }),
                       "bytes when it was opened and now has 400: it was "
                       "written to while it was in use; run again"));
}

} // namespace
