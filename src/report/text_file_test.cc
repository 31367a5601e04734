#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/testing/not_root.h"
#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "bitsweep/report.h"

namespace bitsweep {
namespace {

namespace fs = std::filesystem;

class WriteTextFile : public ::testing::Test {
 protected:
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string message_of(const fs::path& path, const std::string& text = "x") {
    try {
      write_text_file(path, text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      return error.what();
    }
    return "no error";
  }

  std::ptrdiff_t num_files() {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  const bitsweep::testing::OwnFolder own_;
  const fs::path folder_ = own_.path();
};

TEST_F(WriteTextFile, ReplacesTheFileAndLeavesNothingElse) {
  const fs::path path = folder_ / "a.json";
  write_text_file(path, "first, longer");
  write_text_file(path, std::string("two\0\n", 5));
  EXPECT_EQ(read(path), std::string("two\0\n", 5));
  EXPECT_EQ(num_files(), 1);
}

TEST_F(WriteTextFile, KeepsThePermissionsOfTheOldFile) {
  const fs::path path = folder_ / "a.json";
  write_text_file(path, "old");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  write_text_file(path, "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WriteTextFile, FollowsALink) {
  fs::create_directory(folder_ / "real");
  fs::create_symlink("real/file", folder_ / "link");
  write_text_file(folder_ / "link", "text");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read(folder_ / "real" / "file"), "text");
}

TEST_F(WriteTextFile, SaysThatALinkLeadsInACircle) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_NE(message_of(folder_ / "a").find("in a circle"), std::string::npos);
}

TEST_F(WriteTextFile, SaysThatTheFolderIsMissing) {
  const fs::path path = folder_ / "missing" / "a.json";
  EXPECT_EQ(message_of(path),
            "report: \"" + path.string() +
                "\" cannot be written: No such file or directory; create the folder first");
}

TEST_F(WriteTextFile, SaysThatThePathIsAFolder) {
  EXPECT_EQ(message_of(folder_),
            "report: \"" + folder_.string() +
                "\" cannot be written: it is a folder; give the name of a file");
}

TEST_F(WriteTextFile, SaysThatTheFolderIsAFile) {
  write_text_file(folder_ / "file", "x");
  EXPECT_NE(message_of(folder_ / "file" / "a.json").find("Not a directory; choose a folder"),
            std::string::npos);
}

TEST_F(WriteTextFile, SaysThatTheFolderMayNotBeWritten) {
  fs::permissions(folder_, fs::perms(0555));
  std::string message;
  {
    const testing::NotRoot not_root;
    message = message_of(folder_ / "a.json");
  }
  EXPECT_EQ(num_files(), 0);
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_NE(message.find("Permission denied; choose a folder that you may write to"),
            std::string::npos)
      << message;
}

TEST_F(WriteTextFile, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(message_of("/dev/full"),
            "report: \"/dev/full\" cannot be written: No space left on device; free some space, or "
            "choose another folder");
}

TEST_F(WriteTextFile, LeavesTheOldFileWhenTheNewOneDoesNotFit) {
  const fs::path path = folder_ / "a.json";
  write_text_file(path, "old");
  // A file size limit stands in for a full disk.
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  rlimit limit = old_limit;
  limit.rlim_cur = 1000;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string message = message_of(path, std::string(100000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(message.find("free some space"), std::string::npos) << message;
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(num_files(), 1);
}

}  // namespace
}  // namespace bitsweep
