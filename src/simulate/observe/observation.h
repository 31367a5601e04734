#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "simulate/parts/part_sessions.h"

namespace bitsweep::simulate {

/// Runs of the whole model in which quantizers observe, behind quantized parameters.
class Observation {
 public:
  Observation(const Network& network, PartSessions& sessions)
      : network_(network), sessions_(sessions) {}

  /// The model's outputs; every enabled activation quantizer observes. With an order, samples may
  /// be observed side by side; `sample` is the number of this one. Divisors are watched when
  /// somebody asks.
  std::vector<Tensor> observe(const Feed& feed, DivisorWatch* divisors = nullptr,
                              ObserverOrder* order = nullptr, std::int64_t sample = 0);
  /// How many samples may be observed side by side.
  int num_observers() const;
  /// A constant beside activations in a histogram of batches: each run observes it anew, so that it
  /// weighs as in the reference. Other constants are observed once.
  bool observed_in_every_run(int site) const;
  /// How often each quantizer observes in a run.
  std::map<const Quantizer*, int> observed_sites() const;
  /// Frees what only observing needed.
  void end();

 private:
  bool observes_activation(int site) const;
  bool observes(int site) const;
  bool is_stored_parameter(int site) const;
  Tensor value_of(int site) const;
  bool may_copy(const State& parameters) const;

  const Network& network_;
  PartSessions& sessions_;
};

}  // namespace bitsweep::simulate
