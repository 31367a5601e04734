#include "data/npy.h"

#include <gmock/gmock.h>

#include "bitsweep/data.h"
#include "data/test_files.h"

namespace bitsweep::data {
namespace {

using testing::bytes;
using testing::counting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::npy;
using testing::write;

class Npy : public testing::FolderTest {
 protected:
  std::string error_for(const std::string& content) {
    write(folder_ / "x.npy", content);
    return error_of([&] { read_npy(folder_ / "x.npy"); });
  }
};

TEST_F(Npy, GivesTypeShapeAndElements) {
  write(folder_ / "x.npy", npy("<f4", "(2, 3)", counting(6)));
  const Tensor tensor = read_npy(folder_ / "x.npy");
  EXPECT_EQ(tensor.type(), DataType::kFloat);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_THAT(tensor.floats(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(Npy, TurnsFortranOrderIntoRowMajorOrder) {
  write(folder_ / "x.npy", npy("<f4", "(2, 3)", counting(6), true));
  EXPECT_THAT(read_npy(folder_ / "x.npy").floats(), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST_F(Npy, ReadsEveryElementTypeOfNumpy) {
  const std::vector<std::tuple<std::string, DataType, std::size_t>> types = {
      {"<f2", DataType::kFloat16, 2}, {"<f8", DataType::kDouble, 8}, {"|i1", DataType::kInt8, 1},
      {"<i2", DataType::kInt16, 2},   {"<i4", DataType::kInt32, 4},  {"<i8", DataType::kInt64, 8},
      {"|u1", DataType::kUint8, 1},   {"<u2", DataType::kUint16, 2}, {"<u4", DataType::kUint32, 4},
      {"<u8", DataType::kUint64, 8},  {"|b1", DataType::kBool, 1}};
  for (const auto& [descr, type, size] : types) {
    write(folder_ / "x.npy", npy(descr, "(3,)", std::string(3 * size, '\1')));
    const Tensor tensor = read_npy(folder_ / "x.npy");
    EXPECT_EQ(tensor.type(), type) << descr;
    EXPECT_EQ(tensor.size_bytes(), 3 * size);
  }
}

TEST_F(Npy, ReadsScalarsEmptyArraysAndLongHeaders) {
  write(folder_ / "scalar.npy", npy("<f4", "()", counting(1)));
  EXPECT_EQ(read_npy(folder_ / "scalar.npy").shape(), Shape{});
  write(folder_ / "empty.npy", npy("<f4", "(0, 3)", ""));
  EXPECT_EQ(read_npy(folder_ / "empty.npy").size(), 0);
  std::string second = npy("<f4", "(1,)", "");
  second[6] = '\x02';
  second.insert(10, std::string("\0\0", 2));
  write(folder_ / "second.npy", second + counting(1));
  EXPECT_EQ(read_npy(folder_ / "second.npy").size(), 1);
}

TEST_F(Npy, RefusesWhatIsNoArrayOfNumbersWithTheReason) {
  EXPECT_THAT(error_for(""), HasSubstr("is empty"));
  EXPECT_THAT(error_for("this is some text, not an array"), HasSubstr("is no .npy array"));
  EXPECT_THAT(error_for(npy("|O", "(1,)", "abc")), HasSubstr("elements of type object"));
  EXPECT_THAT(error_for(npy("<U3", "(1,)", std::string(12, 'a'))),
              HasSubstr("elements of type str"));
  EXPECT_THAT(error_for(npy(">f4", "(1,)", "abcd")), HasSubstr("big-endian"));
  EXPECT_THAT(error_for(npy("<f4", "(-1,)", "")), HasSubstr("dimension that cannot be read"));
  EXPECT_THAT(error_for(npy("<f4", "(9223372036854775807, 9)", "")),
              HasSubstr("beyond what a file can hold"));
  std::string future = npy("<f4", "(1,)", counting(1));
  future[6] = '\x09';
  EXPECT_THAT(error_for(future), HasSubstr("version 9"));
  EXPECT_THAT(error_of([&] { read_npy(folder_ / "nowhere.npy"); }), HasSubstr("does not exist"));
  EXPECT_THAT(error_of([&] { read_npy(folder_); }), HasSubstr("is not a file"));
}

TEST_F(Npy, TruncatedFileSaysHowManyBytesAreMissing) {
  EXPECT_THAT(error_for(npy("<f4", "(4,)", counting(3))),
              HasSubstr("truncated: 16 bytes of elements announced, 12 there"));
}

TEST_F(Npy, EveryPrefixOfAFileIsRefusedWithAnError) {
  const std::string whole = npy("<f4", "(2, 2)", counting(4));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(NpyReader(std::make_unique<testing::MemoryStream>(whole.substr(0, size))), Error)
        << size;
  }
}

TEST_F(Npy, DamagedHeadersNeverCrash) {
  const std::string whole = npy("<f4", "(2, 2)", counting(4));
  int refused = 0;
  for (std::size_t at = 0; at < 80; ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(c);
      try {
        NpyReader reader(std::make_unique<testing::MemoryStream>(damaged));
        if (reader.header().item_bytes > 0) reader.read_all(reader.header().type);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 80 * 100);
}

TEST_F(Npy, RowsComeOneAfterAnother) {
  for (const bool fortran : {false, true}) {
    write(folder_ / "x.npy", npy("<f4", "(3, 2)", counting(6), fortran));
    NpyReader reader(open_file_stream(folder_ / "x.npy"));
    const Tensor all = read_npy(folder_ / "x.npy");
    for (std::size_t row = 0; row < 3; ++row) {
      const Tensor slice = reader.read_rows(1, DataType::kFloat);
      EXPECT_EQ(slice.shape(), (Shape{1, 2}));
      EXPECT_THAT(slice.floats(), ElementsAre(all.floats()[2 * row], all.floats()[2 * row + 1]))
          << fortran;
    }
  }
}

TEST_F(Npy, ArchiveMembersAreStreamedWithOrWithoutCompression) {
  for (const bool compress : {false, true}) {
    testing::write_npz(folder_ / "x.npz",
                       {{"a", npy("<f4", "(3, 2)", counting(6))},
                        {"b", npy("<i8", "(1,)", bytes<std::int64_t>({7}))}},
                       compress);
    Archive archive(folder_ / "x.npz");
    EXPECT_THAT(archive.names(), ElementsAre("a", "b"));
    NpyReader a(archive.open("a"));
    NpyReader b(archive.open("b"));
    EXPECT_THAT(a.read_rows(2, DataType::kFloat).floats(), ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(*static_cast<const std::int64_t*>(b.read_all(DataType::kInt64).data()), 7);
    EXPECT_THAT(a.read_rows(1, DataType::kFloat).floats(), ElementsAre(4, 5));
  }
}

TEST_F(Npy, ArchivesThatAreDamagedSayWhichFile) {
  write(folder_ / "x.npz", "no zip archive at all");
  EXPECT_THAT(error_of([&] { Archive(folder_ / "x.npz"); }),
              HasSubstr("x.npz is not an .npz archive"));
  write(folder_ / "empty.npz", "");
  EXPECT_THAT(error_of([&] { Archive(folder_ / "empty.npz"); }), HasSubstr("empty.npz is empty"));
  // A flipped byte in the elements breaks the checksum.
  testing::write_npz(folder_ / "flipped.npz", {{"a", npy("<f4", "(300,)", counting(300))}}, false);
  std::fstream file(folder_ / "flipped.npz", std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(700);
  file.put('\x55');
  file.close();
  EXPECT_THAT(error_of([&] {
                Archive archive(folder_ / "flipped.npz");
                NpyReader reader(archive.open("a"));
                reader.read_all(DataType::kFloat);
              }),
              HasSubstr("flipped.npz[a] cannot be read"));
}

}  // namespace
}  // namespace bitsweep::data
