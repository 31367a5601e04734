#pragma once

#include <cstddef>
#include <vector>

#include "bitsweep/budget.h"

namespace bitsweep::allocate {

/// Interactions without what lies inside groups, made convex by blocks inside groups.
///
/// A whole choice per group makes every product of two choices of one group 0 and every square its
/// share itself, so blocks inside groups can be added and their diagonals taken from the linear
/// part: whole configurations keep their loss, shares of choices get another one. Of all blocks
/// that make the quadratic form convex where shares of a group sum to 1, the best take least at the
/// shares of the relaxation, which is a semidefinite program.
class Convexifier {
 public:
  /// One block per group in coordinates of its choices but the first, row by row.
  using Blocks = std::vector<std::vector<double>>;

  explicit Convexifier(const BudgetProblem& problem);

  /// Blocks that take little for these spreads of the shares: by group the covariance of the
  /// choices but the first. Convex up to rounding; the semidefinite program is solved by block
  /// coordinate descent over low-rank factors (Burer and Monteiro 2003).
  Blocks blocks_for(const Blocks& covariance) const;

  /// The same for any shares: a multiple of the squared differences of each group's own changes.
  Blocks own_blocks(const BudgetProblem& problem) const;

  /// Interactions between groups with the blocks, over all choices.
  std::vector<double> matrix_with(const Blocks& blocks) const;

  std::size_t num_groups() const { return offsets_.size() - 1; }
  /// Choices of a group but the first.
  std::size_t size(std::size_t group) const { return offsets_[group + 1] - offsets_[group]; }

 private:
  bool is_convex(const Blocks& blocks, double scale) const;
  /// By the least factor that makes them convex.
  Blocks scaled_to_convex(Blocks blocks) const;

  std::vector<std::size_t> choice_offsets_;
  std::vector<std::size_t> offsets_;  // in the reduced coordinates
  std::vector<double> between_;       // over all choices, nothing inside groups
  std::vector<double> reduced_;       // the same in reduced coordinates
};

}  // namespace bitsweep::allocate
