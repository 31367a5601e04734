#include "allocate/mix/kept_ranges.h"

#include <algorithm>
#include <optional>

#include "base/sha256.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep::allocate {
namespace {

// Raised when the numbers that are kept mean something else than before.
constexpr std::string_view kRanges = "encodings of activations 2";
constexpr std::size_t kNumbers = 4;  // of a cell

/// Whether one calibration decides the encoding, as one cell.
bool is_plain(const Quantizer& q) {
  const bool per_tensor = q.granularity().channel_axis < 0 && q.granularity().block_axis < 0;
  return per_tensor && !q.frozen() && !q.lpbq();
}

journal::Key settings_of(const KeptRanges::Quantizers& quantizers) {
  Sha256 hash;
  for (const auto& q : quantizers) {
    hash.add(q->name());
    hash.add(q->format().name());
    for (const bool flag :
         {q->enabled(), q->symmetric(), q->strict_symmetric(), q->unsigned_symmetric()})
      hash.add_number(static_cast<std::int32_t>(flag));
    hash.add_number(static_cast<std::int32_t>(q->scheme()));
    hash.add_number(static_cast<std::int32_t>(q->histogram_support()));
    hash.add_number(q->percentile());
    hash.add_number(q->zero_point_shift());
    const auto [least, most] = q->fixed_range().value_or(Quantizer::FixedRange());
    for (const std::optional<double>& end : {least, most}) {
      hash.add_number(static_cast<std::int32_t>(end.has_value()));
      hash.add_number(end.value_or(0.0));
    }
  }
  return hash.digest();
}

bool needs_encoding(const Quantizer& q) { return q.enabled() && q.format().needs_encoding(); }

}  // namespace

KeptRanges::KeptRanges(const Simulation& simulation, KeptRuns* kept, SampleSource& samples)
    : simulation_(simulation), kept_(kept != nullptr && kept->is_open() ? kept : nullptr) {
  if (kept_ == nullptr) return;
  Sha256 hash;
  hash.add(kept_->keys_of(simulation, {{}}).front());
  samples.rewind();
  Feed feed;
  while (samples.next(&feed)) hash.add(kept_->key_of(feed));
  calibration_ = hash.digest();
}

void KeptRanges::observed_behind(const Quantizers& weights) {
  if (kept_ == nullptr) return;
  std::vector<const Quantizer*> enabled;
  for (const auto& q : weights) {
    if (q->enabled()) enabled.push_back(q.get());
  }
  Sha256 hash;
  hash.add(calibration_);
  hash.add(kept_->keys_of(simulation_, {simulation_.engine().network().sites_of(enabled)}).front());
  calibration_ = hash.digest();
}

bool KeptRanges::load(const Quantizers& quantizers) const {
  if (kept_ == nullptr) return false;
  const auto count =
      std::count_if(quantizers.begin(), quantizers.end(),
                    [](const std::shared_ptr<Quantizer>& q) { return needs_encoding(*q); });
  if (count == 0) return true;
  const bool all_plain = std::all_of(quantizers.begin(), quantizers.end(), [](const auto& q) {
    return !needs_encoding(*q) || is_plain(*q);
  });
  if (!all_plain) return false;
  const auto numbers = kept_->look_up(calibration_, settings_of(quantizers), kRanges);
  if (!numbers) return false;
  if (numbers->size() != kNumbers * static_cast<std::size_t>(count)) return false;
  auto at = numbers->begin();
  for (const auto& q : quantizers) {
    if (!needs_encoding(*q)) continue;
    q->load_encoding({.format = q->format(),
                      .granularity = q->granularity(),
                      .grid = {},
                      .cells = {{.min = at[0], .max = at[1], .delta = at[2], .offset = at[3]}}});
    at += kNumbers;
  }
  return true;
}

void KeptRanges::keep(const Quantizers& quantizers) const {
  if (kept_ == nullptr) return;
  std::vector<double> numbers;
  for (const auto& q : quantizers) {
    if (!needs_encoding(*q)) continue;
    // What is not said by the settings and one cell is calibrated each time.
    if (!is_plain(*q) || !q->encoding() || q->encoding()->cells.size() != 1) return;
    const AffineEncoding& cell = q->encoding()->cells.front();
    numbers.insert(numbers.end(), {cell.min, cell.max, cell.delta, cell.offset});
  }
  kept_->write_down(calibration_, settings_of(quantizers), kRanges, std::move(numbers));
}

}  // namespace bitsweep::allocate
