#pragma once

#include <cstdint>
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

/// Calibrates on the samples.
void calibrate(Simulation& simulation, const std::vector<Feed>& feeds);

}  // namespace bitsweep::simulate::testing
