#include "graph/file/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/testing/own_folder.h"

namespace bitsweep::graph {
namespace {

constexpr std::size_t kBytes = std::size_t{32} << 20;

// Pages of mapped files that count as memory of this process.
std::size_t mapped_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  std::size_t shared = 0;
  statm >> total >> resident >> shared;
  return shared * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Mapped, and no longer in any folder.
std::shared_ptr<const MappedFile> file_of_sevens() {
  const bitsweep::testing::OwnFolder folder;
  const std::filesystem::path path = folder.path() / "sevens";
  std::ofstream(path, std::ios::binary) << std::string(kBytes, '\7');
  return MappedFile::open(path);
}

Tensor view(const std::shared_ptr<const MappedFile>& file, std::size_t first, std::size_t size) {
  return Tensor::borrow(DataType::kUint8, {static_cast<std::int64_t>(size)},
                        file->bytes().data() + first, file);
}

bool all_sevens(const Tensor& value) {
  const auto* bytes = static_cast<const unsigned char*>(value.data());
  return std::all_of(bytes, bytes + value.size_bytes(), [](unsigned char b) { return b == 7; });
}

TEST(MappedFile, PagesThatAreGivenBackLeaveTheMemoryAndComeBackWithTheNextRead) {
  const std::shared_ptr<const MappedFile> file = file_of_sevens();
  const Tensor value = view(file, 0, kBytes);
  ASSERT_TRUE(all_sevens(value));
  const std::size_t before = mapped_bytes();
  give_back_pages(value);
  EXPECT_LT(mapped_bytes() + kBytes * 3 / 4, before);
  give_back_pages(view(file, 4097, 10'000));  // any part, on any offset
  EXPECT_TRUE(all_sevens(value));
}

TEST(MappedFile, OnlyPagesOfMappedFilesAreGivenBack) {
  std::shared_ptr<const MappedFile> file = file_of_sevens();
  Tensor own = Tensor::allocate(DataType::kUint8, {static_cast<std::int64_t>(kBytes)});
  std::fill_n(static_cast<unsigned char*>(own.mutable_data()), kBytes,
              static_cast<unsigned char>(7));
  give_back_pages(own);
  EXPECT_TRUE(all_sevens(own));
  file.reset();
  give_back_pages(own);
  EXPECT_TRUE(all_sevens(own));
  give_back_pages(Tensor());
}

}  // namespace
}  // namespace bitsweep::graph
