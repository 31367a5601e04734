#include "allocate/mix/final_check.h"

#include <cmath>
#include <memory>
#include <utility>

#include "allocate/group_settings.h"
#include "bitsweep/error.h"
#include "bitsweep/metric.h"

namespace bitsweep {
namespace allocate {
namespace {

double checked(const std::string& name, double score) {
  if (std::isnan(score)) {
    throw Error(ErrorCode::kInvalidData, "mix", "the check \"" + name + "\" gave NaN",
                "return a number from it");
  }
  return score;
}

/// Everything off while it lives.
class InFloat {
 public:
  explicit InFloat(Simulation& simulation) : saved_(simulation) {
    for (const std::string& name : simulation.tensor_names())
      simulation.quantizer(name)->set_enabled(false);
  }
  ~InFloat() { saved_.restore(); }
  InFloat(const InFloat&) = delete;
  InFloat& operator=(const InFloat&) = delete;

 private:
  SavedSettings saved_;
};

struct Running {
  const MetricInfo* info = nullptr;
  std::unique_ptr<MetricAccumulator> simulated;
  std::unique_ptr<MetricAccumulator> floating;  // of metrics that compare with labels
};

std::vector<MixCheck> by_metrics(Simulation& simulation, SampleSource& test,
                                 const MixOptions& options, const Tick& tick) {
  std::vector<Running> running;
  const MetricOptions compared{.outputs = options.outputs};
  for (const std::string& name : options.check_metrics) {
    const MetricInfo& info = find_metric(name);
    running.push_back({&info, make_metric(name, compared),
                       info.needs_labels ? make_metric(name, compared) : nullptr});
  }
  test.rewind();
  Feed feed;
  std::int64_t done = 0;
  while (test.next(&feed)) {
    const std::vector<Tensor> exact = simulation.run_float(feed);
    const std::vector<Tensor> simulated = simulation.run(feed);
    for (Running& metric : running) {
      const auto reference = metric.simulated->prepare(exact, test.labels());
      metric.simulated->add(*reference, simulated);
      if (metric.floating != nullptr) metric.floating->add(*reference, exact);
    }
    tick("final check", ++done, test.size());
  }
  std::vector<MixCheck> checks;
  for (const Running& metric : running) {
    MixCheck check{.name = metric.info->name,
                   .unit = metric.info->unit,
                   .score = metric.simulated->score(),
                   .float_score = std::nullopt};
    if (metric.floating != nullptr) check.float_score = metric.floating->score();
    checks.push_back(std::move(check));
  }
  return checks;
}

bool any_needs_labels(const std::vector<std::string>& metrics) {
  return std::any_of(metrics.begin(), metrics.end(),
                     [](const std::string& name) { return find_metric(name).needs_labels; });
}

}  // namespace

void require_checks(SampleSource* test, const MixOptions& options) {
  if (options.check_metrics.empty()) return;
  if (test == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "mix", "there are no test samples for the final check",
                "give test samples, or enough others to keep some");
  }
  for (const std::string& name : options.check_metrics) make_metric(name);
  if (!any_needs_labels(options.check_metrics)) return;
  Feed feed;
  test->rewind();
  if (test->next(&feed) && !test->labels().defined()) {
    throw Error(ErrorCode::kInvalidArgument, "mix",
                "the final check compares with labels, and the test samples have none",
                "give the labels of the test samples");
  }
}

std::vector<MixCheck> final_checks(Simulation& simulation, SampleSource* test,
                                   const MixOptions& options, const Tick& tick) {
  std::vector<MixCheck> checks;
  if (test != nullptr && !options.check_metrics.empty())
    checks = by_metrics(simulation, *test, options, tick);
  for (const auto& [name, score] : options.own_checks) {
    MixCheck check{.name = name, .unit = "", .score = 0.0, .float_score = std::nullopt};
    {
      const InFloat all_off(simulation);
      check.float_score = checked(name, score());
    }
    check.score = checked(name, score());
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace allocate

void require_use_of_labels(const std::vector<std::string>& check_metrics) {
  if (allocate::any_needs_labels(check_metrics)) return;
  throw Error(ErrorCode::kInvalidArgument, "mix", "no check compares with the labels",
              "add a check that does, such as accuracy, or leave the labels out");
}

}  // namespace bitsweep
