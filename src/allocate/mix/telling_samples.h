#pragma once

#include <cstdint>
#include <vector>

#include "bitsweep/mix.h"
#include "bitsweep/sample_source.h"

namespace bitsweep::allocate {

/// The fewest samples that hold half of the noise of these configurations, at least two; ascending.
///
/// The quality of a configuration is its noise over all samples, so these say most about it: in
/// some networks one sample in eight holds nearly all of it, in others all are alike. Samples
/// count as equally loud.
std::vector<std::int64_t> telling_samples(const std::vector<MeasuredMix>& configurations);

/// These positions of a source, ascending; the source must outlive it.
class SomeSamples : public SampleSource {
 public:
  SomeSamples(SampleSource& source, std::vector<std::int64_t> positions)
      : source_(source), positions_(std::move(positions)) {}

  bool next(Feed* feed) override;
  void rewind() override;
  Tensor labels() const override { return source_.labels(); }
  std::int64_t size() const override { return static_cast<std::int64_t>(positions_.size()); }

 private:
  SampleSource& source_;
  std::vector<std::int64_t> positions_;
  std::size_t num_given_ = 0;
  std::int64_t num_read_ = 0;
};

}  // namespace bitsweep::allocate
