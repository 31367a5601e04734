#include "allocate/costs/latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "graph/testing/model_builder.h"

namespace bitsweep::allocate {
namespace {

using graph::testing::ModelBuilder;
using ::testing::HasSubstr;

constexpr const char* kHeader = "operator,shape,weights,activations,ms\n";

/// x -> Conv(w) -> c; c + x -> y.
Model model() {
  ModelBuilder m;
  m.input("x", {1, 3, 6, 6}).random("w", {3, 3, 3, 3}, 1);
  m.node("c = Conv(x, w) {pads: [1, 1, 1, 1]}").node("y = Add(c, x)").node("z = Relu(y)");
  m.output("z");
  return m.model();
}

class Latency : public ::testing::Test {
 protected:
  Latency() {
    const BitOperations observed(sim_, groups_, BitOpsCounting::kEveryProduct);  // shapes
    choices_.assign(groups_.size(), {{Format::integer(16), Format::integer(8)},
                                     {Format::integer(8), Format::integer(8)}});
  }

  CostTable table(const std::string& rows) {
    std::ofstream(file_) << rows;
    return latency_cost(sim_, file_, groups_, choices_, &notes_);
  }
  std::string error_of(const std::string& rows) {
    try {
      table(rows);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  int group_of(const std::string& tensor) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const std::string& t : groups_[g].activations) {
        if (t == tensor) return static_cast<int>(g);
      }
    }
    return -1;
  }

  const bitsweep::testing::OwnFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "latency.csv";
  Simulation sim_{model()};
  std::vector<QuantizerGroup> groups_ = quantizer_groups(sim_);
  std::vector<std::vector<Candidate>> choices_;
  std::vector<std::string> notes_;
};

TEST_F(Latency, IsTheSumOfTheRowsOfAllOperatorsInTheirTypes) {
  const CostTable cost = table(std::string(kHeader) +
                               "# measured\n"
                               "Conv,1x3x6x6,int8,int16,4\n"
                               "Conv,*,int8,int8,1.5\n"
                               "Add,*,int8,int8,0.25\n"
                               "Add,*,*,*,0.5\n");
  std::vector<int> x(groups_.size(), 0);
  EXPECT_DOUBLE_EQ(cost_of(cost, x), 4.5);
  // The input decides about the Conv, and with the Conv's output about the Add.
  x[static_cast<std::size_t>(group_of("x"))] = 1;
  EXPECT_DOUBLE_EQ(cost_of(cost, x), 2.0);
  x[static_cast<std::size_t>(group_of("c"))] = 1;
  EXPECT_DOUBLE_EQ(cost_of(cost, x), 1.75);
}

TEST_F(Latency, NamesOperatorTypesWithoutRows) {
  table(std::string(kHeader) + "Conv,*,*,*,1\n");
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_THAT(notes_[0], HasSubstr("no rows for Add, Relu"));
}

TEST_F(Latency, NamesTheOperatorWhoseTypesAreMissing) {
  EXPECT_THAT(error_of(std::string(kHeader) + "Conv,*,int8,int16,4\n"),
              HasSubstr("shape 1x3x6x6, weights int8, activations int8"));
}

TEST_F(Latency, RefusesWhatItCannotReadWithTheLine) {
  EXPECT_THAT(error_of("op,ms\n"), HasSubstr("give it the header"));
  EXPECT_THAT(error_of(kHeader), HasSubstr("no rows"));
  EXPECT_THAT(error_of(std::string(kHeader) + "Conv,*,int8,1\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of(std::string(kHeader) + "Conv,*,int8,int8,soon\n"), HasSubstr("\"soon\""));
  EXPECT_THAT(error_of(std::string(kHeader) + "Conv,*,int8,int8,-1\n"), HasSubstr("\"-1\""));
  EXPECT_THAT(error_of(std::string(kHeader) + "Conv,*,nine,int8,1\n"), HasSubstr("nine"));
  EXPECT_THAT(error_of(std::string(kHeader) + "Conv,*,int8,int8,1\nConv,*,int8,int8,2\n"),
              HasSubstr("line 3"));
  EXPECT_THROW(LatencyTable("/nowhere/latency.csv"), Error);
}

}  // namespace
}  // namespace bitsweep::allocate
