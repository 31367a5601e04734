#pragma once

#include <map>
#include <mutex>

#include "bitsweep/tensor.h"

namespace bitsweep::simulate {

class Network;

/// Looks during a calibration at the tensors that something is divided by: where a grid rounds
/// their smallest values to zero, the quantized model makes NaN and infinite values although the
/// float model does not. The roots of norms written in single nodes are such tensors.
class DivisorWatch {
 public:
  explicit DivisorWatch(const Network& network);

  bool watches(int site) const { return least_.count(site) > 0; }
  /// One sample. Thread-safe.
  void see(int site, const Tensor& values);
  /// Adds to the reason of each site whose smallest value became zero.
  void note(Network& network) const;

 private:
  std::mutex mutex_;
  std::map<int, float> least_;  // magnitude, by site
};

}  // namespace bitsweep::simulate
