#pragma once

#include <cstdint>
#include <latch>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/model.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"
#include "bitsweep/tensor.h"

namespace bitsweep::simulate::testing {

/// Small networks with the topologies that a sweep must get right, by name.
std::vector<std::pair<std::string, Model>> nets();
Model net(const std::string& name);
/// Further ones, for what must hold on every kind of network.
std::vector<std::pair<std::string, Model>> more_nets();
/// Residual blocks, "o0" to "o2", of which the second starts at a cut. Open dimensions, as
/// exporters leave them.
Model residual_net(std::int64_t channels);

/// A detector: the rows of its output are the positions whose first value is above a threshold.
Model thresholded_boxes();

/// Reproducible samples for a model; open dimensions become 2.
std::vector<Feed> samples(const Model& model, int count, std::uint64_t seed = 7);

/// Samples from memory.
class VectorSource : public SampleSource {
 public:
  explicit VectorSource(std::vector<Feed> feeds) : feeds_(std::move(feeds)) {}
  bool next(Feed* feed) override;
  void rewind() override { position_ = 0; }
  std::int64_t size() const override { return static_cast<std::int64_t>(feeds_.size()); }

 private:
  std::vector<Feed> feeds_;
  std::size_t position_ = 0;
};

/// Gives a few samples and holds the rest back until it is released: whoever is to be stopped in
/// the middle cannot finish before.
class HeldSource : public VectorSource {
 public:
  HeldSource(std::vector<Feed> feeds, int num_free)
      : VectorSource(std::move(feeds)), num_free_(num_free) {}
  bool next(Feed* feed) override;
  void release() { released_.count_down(); }

 private:
  int num_free_;
  std::latch released_{1};
};

/// Calibrates on the samples.
void calibrate(Simulation& simulation, const std::vector<Feed>& feeds);

}  // namespace bitsweep::simulate::testing
