#pragma once

#include <vector>

#include "simulate/network/shapes.h"

namespace bitsweep::simulate {

/// A float end of the network: all that lies behind a cut, or only what some tensors at the cut
/// reach (the other branches of a branchy network keep the values of the float pass).
struct Suffix {
  int begin = 0;                         ///< position of the cut
  std::vector<graph::TensorId> changed;  ///< empty: everything behind the cut
  std::vector<int> nodes;                ///< ascending
  /// Live at the cut, or made behind it by nodes that are left out.
  std::vector<graph::TensorId> inputs;
  std::vector<graph::TensorId> outputs;  ///< graph outputs that it makes
  double cost = 0.0;                     ///< in units of one float pass
};

/// The part of the network that `changed` reaches behind a cut; empty: all of it.
Suffix make_suffix(const Network& network, const Shapes& shapes, int cut,
                   const std::vector<graph::TensorId>& changed);

}  // namespace bitsweep::simulate
