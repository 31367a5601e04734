#include "export/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "bitsweep/error.h"

namespace bitsweep::exporting {
namespace {

constexpr double kStepsOfARange = 255.0;  // of an output that has no grid of its own

double difference(float a, float b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0.0;
  const double d = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return std::isfinite(d) ? d : std::numeric_limits<double>::infinity();
}

// Integers (class numbers, counts) have a grid of their own: any difference is one.
void require_same(const Tensor& reference, const Tensor& tested) {
  if (reference.type() == tested.type() && reference.shape() == tested.shape()) return;
  throw Error(ErrorCode::kInvalidModel, "verify",
              "an output has type or shape " + shape_text(tested.shape()) +
                  " where the other model has " + shape_text(reference.shape()),
              "compare a model with its own export");
}

}  // namespace

void AgreementSums::add(const Tensor& reference, const Tensor& tested, double step) {
  require_same(reference, tested);
  if (!is_quantizable_type(reference.type())) {
    positions_ += 1.0;
    if (reference.equal_bits(tested)) {
      same_ += 1.0;
    } else {
      max_difference_ = max_steps_ = std::numeric_limits<double>::infinity();
    }
    return;
  }
  const Tensor wide_reference = reference.to_float();
  const Tensor wide_tested = tested.to_float();
  const std::span<const float> r = wide_reference.floats();
  const std::span<const float> t = wide_tested.floats();
  if (r.empty()) return;
  double worst = 0.0;
  double low = 0.0;  // a grid always holds zero
  double high = 0.0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const double d = difference(r[i], t[i]);
    worst = std::max(worst, d);
    noise_ += d * d;
    signal_ += static_cast<double>(r[i]) * static_cast<double>(r[i]);
    if (std::isfinite(r[i])) {
      low = std::min<double>(low, r[i]);
      high = std::max<double>(high, r[i]);
    }
  }
  if (step <= 0.0) step = (high - low) / kStepsOfARange;
  max_difference_ = std::max(max_difference_, worst);
  if (worst > 0.0)
    max_steps_ =
        std::max(max_steps_, step > 0.0 ? worst / step : std::numeric_limits<double>::infinity());
  const std::size_t width =
      reference.shape().empty() ? 1 : static_cast<std::size_t>(reference.shape().back());
  for (std::size_t row = 0; row + width <= r.size() && width > 0; row += width) {
    const auto best = [&](std::span<const float> values) {
      const auto part = values.subspan(row, width);
      return std::max_element(part.begin(), part.end()) - part.begin();
    };
    positions_ += 1.0;
    // Entries that tie are equally good.
    const auto chosen = static_cast<std::size_t>(best(t));
    const auto wanted = static_cast<std::size_t>(best(r));
    if (r[row + chosen] == r[row + wanted]) same_ += 1.0;
  }
}

double AgreementSums::sqnr_db() const {
  if (noise_ == 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(signal_ / noise_);
}

double AgreementSums::top1_agreement() const { return positions_ > 0.0 ? same_ / positions_ : 1.0; }

}  // namespace bitsweep::exporting
