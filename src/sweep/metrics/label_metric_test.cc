#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bitsweep/error.h"
#include "bitsweep/metric.h"
#include "sweep/metrics/test_tensors.h"

namespace bitsweep::scoring {
namespace {

using testing::floats;
using testing::integers;

double score(const char* name, const Tensor& simulated, const Tensor& labels) {
  const auto metric = make_metric(name);
  metric->add(*metric->prepare(std::vector{simulated}, labels), std::vector{simulated});
  return metric->score();
}

std::string message(const char* name, const Tensor& output, const Tensor& labels) {
  try {
    (void)score(name, output, labels);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Accuracy, CountsTheRowsWhoseLargestEntryIsTheLabel) {
  const Tensor rows = floats({3, 3}, {0, 5, 1, 9, 2, 2, 0, 0, 7});
  EXPECT_DOUBLE_EQ(score("accuracy", rows, integers({1, 2, 2})), 2.0 / 3.0);
}

TEST(Accuracy, SkipsNegativeLabels) {
  const Tensor rows = floats({2, 2}, {1, 0, 1, 0});
  EXPECT_EQ(score("accuracy", rows, integers({0, -100})), 1.0);
}

TEST(CrossEntropy, IsTheMeanNegativeLogProbabilityOfTheLabels) {
  // softmax of {0, log 3} is {1/4, 3/4}.
  const Tensor rows = floats({2, 2}, {0, std::log(3.0F), 0, std::log(3.0F)});
  const double wanted = -(std::log(0.25) + std::log(0.75)) / 2.0;
  EXPECT_NEAR(score("cross_entropy", rows, integers({0, 1})), wanted, 1e-6);
  EXPECT_NEAR(score("perplexity", rows, integers({0, 1})), std::exp(wanted), 1e-6);
}

TEST(LabelMetrics, NonFiniteOutputsGiveTheWorstScore) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor good = floats({1, 2}, {0, 1});
  const Tensor bad = floats({1, 2}, {nan, 1});
  for (const auto& [name, worst] : {std::pair{"accuracy", 0.0}, {"cross_entropy", 3e38}}) {
    const auto metric = make_metric(name);
    metric->add(*metric->prepare(std::vector{good}, integers({1})), std::vector{bad});
    EXPECT_TRUE(std::isfinite(metric->score()));
    EXPECT_TRUE(worst == 0.0 ? metric->score() == 0.0 : metric->score() > worst) << name;
  }
}

TEST(LabelMetrics, SayWhatIsWrongWithTheLabels) {
  const Tensor rows = floats({2, 2}, {0, 1, 1, 0});
  EXPECT_NE(message("accuracy", rows, Tensor()).find("labels, and there are none"),
            std::string::npos);
  EXPECT_NE(message("accuracy", rows, integers({1})).find("2 rows and the sample 1 labels"),
            std::string::npos);
  EXPECT_NE(message("accuracy", rows, integers({1, 2})).find("label 2 is beyond the 2 classes"),
            std::string::npos);
  EXPECT_NE(message("accuracy", rows, floats({2}, {0, 1})).find("float32, not integers"),
            std::string::npos);
}

TEST(LabelMetrics, LookAtTheFirstFloatOutput) {
  const Tensor rows = floats({1, 2}, {0, 1});
  const Tensor other = floats({3, 1}, {0, 1, 2});
  const auto metric = make_metric("accuracy");
  metric->add(*metric->prepare(std::vector{rows, other}, integers({1})), std::vector{rows, other});
  EXPECT_EQ(metric->score(), 1.0);
}

TEST(OutputScores, AreThoseOfEachOutputAndTheirMeanOnRequest) {
  const Tensor reference = floats({1, 2}, {1, 1});
  const Tensor off = floats({1, 2}, {1, 3});
  for (const auto& [reduction, wanted] :
       {std::pair{OutputReduction::kWorst, 2.0}, {OutputReduction::kMean, 1.0}}) {
    MetricOptions options;
    options.reduction = reduction;
    const auto metric = make_metric("mse", options);
    metric->add(std::vector{reference, reference}, std::vector{off, reference});
    EXPECT_EQ(metric->output_scores(), (std::vector<double>{2.0, 0.0}));
    EXPECT_EQ(metric->score(), wanted);
  }
}

}  // namespace
}  // namespace bitsweep::scoring
