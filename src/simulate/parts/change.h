#pragma once

#include <optional>
#include <vector>

#include "simulate/network/network.h"

namespace bitsweep::simulate {

/// Positions that split the network: 0 < ... < NodeOrder::size(), ascending.
using Cuts = std::vector<int>;

/// Nodes [begin, end) of the order.
struct Span {
  int begin = 0;
  int end = 0;
  bool empty() const { return begin == end; }
};

/// Where a state changes the network.
struct Change {
  int first = 0;  ///< positions of the first and the last change
  int last = 0;
  /// Where all that is quantized are tensors of the float pass that nobody reads before `read`:
  /// they exist from `made` on, and a cut behind it and not behind `read` takes them quantized, so
  /// that nothing in front of the cut has to run. Otherwise no position is in between.
  int made = 0;
  int read = 0;

  /// The cut that takes the changed tensors as they are.
  std::optional<int> taken_at(const Cuts& cuts) const;
};

/// nullopt when nothing that the state changes is ever read.
std::optional<Change> change_of(const Network& network, const State& state);

/// What has to run with quantizers: from the last cut before the first change to the first cut
/// behind the last one. Empty, at the cut, where a cut takes what is changed. `size`: of the order.
Span span_of(const Change& change, const Cuts& cuts, int size);

/// Whether the site quantizes in this span: where its tensor is made; behind the first cut that a
/// graph input is read; in every reader of a constant.
bool acts_in(const Network& network, int site, Span span);

/// Of tensors behind a span, those that it makes, or quantizes for a graph input.
std::vector<graph::TensorId> made_in(const Network& network, const State& state, Span span,
                                     std::vector<graph::TensorId> tensors);

/// Tensors live at a position that the state can change.
std::vector<graph::TensorId> changed_at(const Network& network, const State& state, int position);

}  // namespace bitsweep::simulate
