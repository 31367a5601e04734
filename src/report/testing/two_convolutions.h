#pragma once

#include "bitsweep/model.h"
#include "graph/testing/model_builder.h"

namespace bitsweep::report {

/// For tests: x -> first: Conv(w) -> c -> Sigmoid -> a -> second: Conv(v) -> b, so that names are
/// not in the order of the network.
inline Model two_convolutions() {
  graph::testing::ModelBuilder m;
  m.input("x", {1, 2, 4, 4}).random("w", {2, 2, 1, 1}, 1).random("v", {2, 2, 1, 1}, 2);
  m.node("c = Conv(x, w)").node("a = Sigmoid(c)").node("b = Conv(a, v)").output("b");
  return m.model();
}

}  // namespace bitsweep::report
