#include "simulate/observe/observation.h"

#include <algorithm>

namespace bitsweep::simulate {

using graph::TensorId;

// Constants were observed before, from their value.
bool Observation::observes_activation(int site) const {
  return !network_.is_static(site) && network_.quantizer(site)->format().needs_encoding();
}

bool Observation::is_stored_parameter(int site) const {
  return network_.is_static(site) && network_.site(site).role == graph::TensorRole::kParameter;
}

bool Observation::observed_in_every_run(int site) const {
  const Quantizer& q = *network_.quantizer(site);
  const bool batches_weigh_the_same =
      (q.scheme() == Scheme::kTfEnhanced || q.scheme() == Scheme::kPercentile) &&
      q.histogram_support() == HistogramSupport::kFirstBatch;
  if (!batches_weigh_the_same || !network_.is_static(site) || is_stored_parameter(site) ||
      q.frozen() || !q.format().needs_encoding())
    return false;
  const State tied = network_.sites_of({&q});
  return std::any_of(tied.begin(), tied.end(), [&](int s) { return observes_activation(s); });
}

bool Observation::observes(int site) const {
  return observes_activation(site) || observed_in_every_run(site);
}

Tensor Observation::value_of(int site) const {
  return network_.graph().static_value(network_.site(site).tensor);
}

// Quantized copies of all weights would double the memory of a large model.
bool Observation::may_copy(const State& parameters) const {
  std::size_t bytes = 0;
  for (const int s : parameters) bytes += value_of(s).size_bytes();
  return bytes <= network_.options().calibration_copies_bytes;
}

int Observation::num_observers() const {
  State parameters;
  std::size_t largest = 1;
  for (const int s : network_.enabled_state()) {
    if (!is_stored_parameter(s)) continue;
    parameters.push_back(s);
    largest = std::max(largest, value_of(s).size_bytes());
  }
  const int num_threads = network_.num_threads();
  if (may_copy(parameters)) return num_threads;
  const std::size_t fit = network_.options().calibration_copies_bytes / largest;
  return static_cast<int>(std::clamp<std::size_t>(fit, 1, static_cast<std::size_t>(num_threads)));
}

void Observation::end() { sessions_.drop_observing(); }

std::map<const Quantizer*, int> Observation::observed_sites() const {
  std::map<const Quantizer*, int> sites;
  for (const int s : network_.enabled_state()) {
    if (observes(s)) ++sites[network_.quantizer(s).get()];
  }
  return sites;
}

std::vector<Tensor> Observation::observe(const Feed& feed, DivisorWatch* divisors,
                                         ObserverOrder* order, std::int64_t sample) {
  State observed;
  State parameters;
  for (const int s : network_.enabled_state()) {
    if (observes(s)) {
      observed.push_back(s);
    } else if (is_stored_parameter(s)) {
      parameters.push_back(s);
    }
  }
  RunState run;
  run.sites.resize(static_cast<std::size_t>(network_.num_sites()));
  run.divisors = divisors;
  run.order = order;
  run.sample = sample;
  for (const int s : observed) {
    SiteAction& action = run.sites[static_cast<std::size_t>(s)];
    action.mode = SiteAction::Mode::kObserve;
    action.observer = network_.quantizer(s).get();
  }
  // Operators one by one: then ranges are those of the reference to the last bit, and so are the
  // outputs of deep networks, in which a range that differs in its last bit lets many values round
  // to the next step. Where the reference's histogram begins at zero, the largest value lies
  // exactly on the edge of a bucket, and would move the range by one. On one thread, since some
  // reductions split their sums by threads. Weights need no copy either.
  SimulatedPart whole{.span = {0, network_.order().size()},
                      .nodes = std::move(observed),
                      .outputs = distinct_outputs(network_.graph()),
                      .optimization = Optimization::kNone,
                      .observes = true};
  if (may_copy(parameters)) {
    whole.constants = std::move(parameters);
  } else {
    // Computed anew in each run, where they take memory one by one.
    for (const int s : parameters) {
      SiteAction& action = run.sites[static_cast<std::size_t>(s)];
      action.mode = SiteAction::Mode::kQuantize;
      action.plan = network_.quantizer(s)->plan();
      action.input_is_stored = true;
      whole.nodes.push_back(s);
    }
    std::sort(whole.nodes.begin(), whole.nodes.end());
  }
  const PartSession session = sessions_.simulated(std::move(whole));
  const std::vector<Tensor> results = session.run(values_of(network_.graph(), feed), run);
  TensorValues values;
  for (std::size_t i = 0; i < session.outputs.size(); ++i)
    values.emplace(session.outputs[i], results[i]);
  return in_output_order(network_.graph(), values, results);
}

}  // namespace bitsweep::simulate
