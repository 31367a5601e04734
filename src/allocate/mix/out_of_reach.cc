#include "allocate/mix/out_of_reach.h"

#include <algorithm>
#include <cstdio>

#include "allocate/budget/descent.h"
#include "allocate/mix/quality.h"

namespace bitsweep::allocate {
namespace {

std::string db_text(double db) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f dB", db);
  return text;
}

/// The group whose best choice loses most.
struct Worst {
  std::size_t group = 0;
  std::size_t choice = 0;
  double loss = -1.0;
};

Worst worst_group(const BudgetProblem& problem) {
  Worst worst;
  for (std::size_t g = 0; g < problem.loss.size(); ++g) {
    const auto least = std::min_element(problem.loss[g].begin(), problem.loss[g].end());
    if (*least > worst.loss)
      worst = {g, static_cast<std::size_t>(least - problem.loss[g].begin()), *least};
  }
  return worst;
}

/// Values beyond the calibrated range are lost at any number of bits.
std::string way_out(MixTask& task, const QuantizerGroup& worst) {
  const std::optional<Clipping> clipping =
      task.runs().clipping(best_choices(task.base()), worst.activations);
  if (!clipping) return "add the candidate float to let such groups stay in float";
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.2g%%", 100.0 * clipping->share);
  return std::string(percent) + " of the values of \"" + clipping->tensor +
         "\" lie beyond its range, which hurts more than rounding: calibrate on more samples, or "
         "add the candidate float";
}

}  // namespace

std::string why_out_of_reach(MixTask& task, const MixGroups& groups) {
  // Is there more without the limits?
  task.measure(best_choices(task.base()), task.base());
  double best = -kMaxDb;
  double best_within = -kMaxDb;
  bool any_within = false;
  for (const WholeRun& run : task.runs().all()) {
    best = std::max(best, run.measured.db);
    if (!task.within_limits(run.measured.choices)) continue;
    any_within = true;
    best_within = std::max(best_within, run.measured.db);
  }
  if (best >= task.wanted_db().value_or(kMaxDb)) {
    return (any_within ? "the best measured quality within the limits is " + db_text(best_within)
                       : std::string("no measured configuration is within the limits")) +
           "; without them " + db_text(best) + " was measured";
  }
  std::string measured = "the best measured quality is " + db_text(best);
  const Worst worst = worst_group(task.base());
  const QuantizerGroup& group = groups.groups[worst.group];
  const Candidate& choice = groups.choices[worst.group][worst.choice];
  if (choice.activation == Format::parse("float32") || worst.loss <= 0.0) return measured;
  return measured + "; the group of \"" + group_name(group) +
         "\" loses most: alone, in its best candidate " + mix_candidate_text(choice) +
         ", it leaves " + db_text(db_of(worst.loss)) + "; " + way_out(task, group);
}

}  // namespace bitsweep::allocate
