#pragma once

#include <vector>

#include "bitsweep/tensor.h"

namespace bitsweep::exporting {

/// Compares pairs of tensors, one sample after another; sums in double.
class AgreementSums {
 public:
  /// `step`: one step of the tensor's grid; 0: a 255th of the range of `reference`.
  void add(const Tensor& reference, const Tensor& tested, double step);

  double max_difference() const { return max_difference_; }
  double max_steps() const { return max_steps_; }
  double sqnr_db() const;
  double top1_agreement() const;

 private:
  double max_difference_ = 0.0;
  double max_steps_ = 0.0;
  double signal_ = 0.0;
  double noise_ = 0.0;
  double positions_ = 0.0;
  double same_ = 0.0;
};

}  // namespace bitsweep::exporting
