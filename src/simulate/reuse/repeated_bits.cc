#include "simulate/reuse/repeated_bits.h"

namespace bitsweep::simulate {
namespace {

// Bits of the significand that have to agree before it is believed that all others will, too.
constexpr std::int64_t kEnoughBits = std::int64_t{16} * 24;

int significand_bits(DataType type) {
  if (type == DataType::kFloat) return 24;
  if (type == DataType::kDouble) return 53;
  return type == DataType::kFloat16 || type == DataType::kBfloat16 ? 2 : 0;
}

}  // namespace

bool RepeatedBits::repeats(int suffix, const std::string& shapes) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find({suffix, shapes});
  return found != counts_.end() && found->second >= kEnoughBits;
}

void RepeatedBits::add(int suffix, const std::string& shapes, const std::vector<Tensor>& outputs,
                       const std::vector<Tensor>& float_pass) {
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data() == float_pass[i].data()) continue;  // not the suffix made it
    bits += outputs[i].size() * significand_bits(outputs[i].type());
  }
  const std::lock_guard lock(mutex_);
  counts_[{suffix, shapes}] += bits;
}

BitCounts RepeatedBits::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace bitsweep::simulate
