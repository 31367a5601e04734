#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "bitsweep/report.h"

namespace bitsweep {
namespace {

SweepResult two_rows() {
  SweepResult result;
  result.metric = "sqnr";
  result.unit = "dB";
  result.num_samples = 2;
  result.scores = {{"conv.weight", 0.1, 1, {0.30000000000000004, -1e-7}},
                   {"relu", 34.0, 2, {34.0, 34.0}}};
  return result;
}

TEST(SweepToJson, HasTheRankingInOrderWithMetricAndSamples) {
  const std::string text = sweep_to_json(two_rows(), {{"model", "net.onnx"}});
  EXPECT_EQ(text, R"({
  "metric": "sqnr",
  "unit": "dB",
  "better": "higher",
  "num_samples": 2,
  "complete": true,
  "facts": {
    "model": "net.onnx"
  },
  "ranking": [
    {
      "rank": 1,
      "name": "conv.weight",
      "score": 0.1
    },
    {
      "rank": 2,
      "name": "relu",
      "score": 34.0
    }
  ],
  "per_sample": {
    "conv.weight": [
      0.30000000000000004,
      -1e-07
    ],
    "relu": [
      34.0,
      34.0
    ]
  }
}
)");
}

TEST(SweepToJson, IsTheSameForEqualResultsOfDifferentRuns) {
  SweepResult slow = two_rows();
  slow.elapsed_s = 9.5;
  slow.num_runs = 77;
  slow.forward_equivalents = 3.25;
  EXPECT_EQ(sweep_to_json(slow, {}), sweep_to_json(two_rows(), {}));
}

TEST(SweepToJson, StaysJsonWithNanInfinityAndBrokenUtf8) {
  SweepResult result = two_rows();
  result.better = Better::kLower;
  result.complete = false;
  result.scores[0].score = std::numeric_limits<double>::quiet_NaN();
  result.scores[1].score = -std::numeric_limits<double>::infinity();
  result.scores[1].per_sample = {std::numeric_limits<double>::infinity()};
  result.scores[1].name = "bad \xFF name";
  const auto json = nlohmann::json::parse(sweep_to_json(result, {}));
  EXPECT_EQ(json["better"], "lower");
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["ranking"][0]["score"], "NaN");
  EXPECT_EQ(json["ranking"][1]["score"], "-Infinity");
  EXPECT_EQ(json["ranking"][1]["name"], "bad \uFFFD name");
  EXPECT_EQ(json["per_sample"]["bad \uFFFD name"][0], "Infinity");
}

TEST(SweepRunInfoToJson, HoldsWhatDiffersFromRunToRun) {
  SweepResult result = two_rows();
  result.elapsed_s = 1.5;
  result.num_runs = 12;
  result.forward_equivalents = 6.25;
  result.num_evaluations = 10;
  result.num_kept = 2;
  result.notes = {"continued"};
  const auto json = nlohmann::json::parse(sweep_run_info_to_json(result));
  EXPECT_EQ(json, (nlohmann::json{{"elapsed_s", 1.5},
                                  {"num_runs", 12},
                                  {"forward_equivalents", 6.25},
                                  {"num_evaluations", 10},
                                  {"num_kept", 2},
                                  {"notes", {"continued"}}}));
}

}  // namespace
}  // namespace bitsweep
