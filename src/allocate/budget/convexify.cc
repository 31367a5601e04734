#include "allocate/budget/convexify.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "allocate/budget/configuration.h"

namespace bitsweep::allocate {
namespace {

using Vector = std::vector<double>;

/// Eigenvalues and vectors (columns) of a small symmetric matrix, by Jacobi's rotations.
void decompose(Vector a, std::size_t n, Vector& values, Vector& vectors) {
  vectors.assign(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1.0;
  constexpr int kSweeps = 30;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0.0) continue;
        const double angle = 0.5 * std::atan2(2.0 * a[p * n + q], a[q * n + q] - a[p * n + p]);
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        for (std::size_t k = 0; k < n; ++k) {
          const double kp = a[k * n + p];
          const double kq = a[k * n + q];
          a[k * n + p] = c * kp - s * kq;
          a[k * n + q] = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double pk = a[p * n + k];
          const double qk = a[q * n + k];
          a[p * n + k] = c * pk - s * qk;
          a[q * n + k] = s * pk + c * qk;
          const double vp = vectors[k * n + p];
          const double vq = vectors[k * n + q];
          vectors[k * n + p] = c * vp - s * vq;
          vectors[k * n + q] = s * vp + c * vq;
        }
      }
    }
  }
  values.resize(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = a[i * n + i];
}

/// The symmetric matrix with its eigenvalues raised to a power; those below `floor` count as it.
Vector to_power(const Vector& matrix, std::size_t n, double power, double floor) {
  Vector values;
  Vector vectors;
  decompose(matrix, n, values, vectors);
  Vector result(n * n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    const double value = std::pow(std::max(values[k], floor), power);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        result[i * n + j] += value * vectors[i * n + k] * vectors[j * n + k];
    }
  }
  return result;
}

/// a (rows x inner) times b (inner x columns).
Vector product(const Vector& a, const Vector& b, std::size_t rows, std::size_t inner,
               std::size_t columns) {
  Vector result(rows * columns, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < inner; ++k) {
      const double value = a[i * inner + k];
      for (std::size_t j = 0; j < columns; ++j)
        result[i * columns + j] += value * b[k * columns + j];
    }
  }
  return result;
}

/// a times its own transpose.
Vector square(const Vector& a, std::size_t rows, std::size_t columns) {
  Vector result(rows * rows, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t k = 0; k < columns; ++k)
        result[i * rows + j] += a[i * columns + k] * a[j * columns + k];
    }
  }
  return result;
}

bool has_cholesky_factor(Vector matrix, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    const double* row_j = &matrix[j * n];
    for (std::size_t i = j; i < n; ++i) {
      double* row_i = &matrix[i * n];
      double sum = row_i[j];
      for (std::size_t k = 0; k < j; ++k) sum -= row_i[k] * row_j[k];
      if (i == j) {
        if (!(sum > 0.0)) return false;
        row_i[j] = std::sqrt(sum);
      } else {
        row_i[j] = sum / row_j[j];
      }
    }
  }
  return true;
}

}  // namespace

Convexifier::Convexifier(const BudgetProblem& problem)
    : choice_offsets_(choice_offsets(problem)), between_(problem.interactions) {
  const std::size_t n = choice_offsets_.back();
  offsets_.push_back(0);
  for (const auto& group : problem.loss) offsets_.push_back(offsets_.back() + group.size() - 1);
  reduced_.assign(offsets_.back() * offsets_.back(), 0.0);
  for (std::size_t g = 0; g < num_groups(); ++g) {
    const std::size_t g0 = choice_offsets_[g];
    for (std::size_t h = 0; h < num_groups(); ++h) {
      const std::size_t h0 = choice_offsets_[h];
      if (g == h) {
        for (std::size_t i = g0; i < choice_offsets_[g + 1]; ++i)
          std::fill(&between_[i * n + g0], &between_[i * n + choice_offsets_[g + 1] - 1] + 1, 0.0);
        continue;
      }
      const double origin = problem.interactions[g0 * n + h0];
      for (std::size_t i = 0; i < size(g); ++i) {
        for (std::size_t j = 0; j < size(h); ++j) {
          const std::size_t a = g0 + i + 1;
          const std::size_t b = h0 + j + 1;
          reduced_[(offsets_[g] + i) * offsets_.back() + offsets_[h] + j] =
              problem.interactions[a * n + b] - problem.interactions[g0 * n + b] -
              problem.interactions[a * n + h0] + origin;
        }
      }
    }
  }
}

bool Convexifier::is_convex(const Blocks& blocks, double scale) const {
  const std::size_t n = offsets_.back();
  Vector matrix = reduced_;
  for (std::size_t g = 0; g < blocks.size(); ++g) {
    for (std::size_t i = 0; i < size(g); ++i) {
      for (std::size_t j = 0; j < size(g); ++j)
        matrix[(offsets_[g] + i) * n + offsets_[g] + j] = scale * blocks[g][i * size(g) + j];
    }
  }
  return has_cholesky_factor(std::move(matrix), n);
}

Convexifier::Blocks Convexifier::blocks_for(const Blocks& covariance) const {
  constexpr std::size_t kRank = 24;
  constexpr int kSweeps = 40;
  const std::size_t n = offsets_.back();
  const std::size_t rank = std::min(kRank, n);
  // Rows of V: V_g V_g' = covariance of group g, sum of R_gh . V_g V_h' as low as it gets.
  std::vector<Vector> root;
  std::vector<Vector> inverse_root;
  Vector v(n * rank);
  std::mt19937 random(1);
  for (std::size_t g = 0; g < num_groups(); ++g) {
    double trace = 0.0;
    for (std::size_t i = 0; i < size(g); ++i) trace += covariance[g][i * size(g) + i];
    const double floor = 1e-3 * trace + 1e-9;
    root.push_back(to_power(covariance[g], size(g), 0.5, floor));
    inverse_root.push_back(to_power(covariance[g], size(g), -0.5, floor));
  }
  for (double& value : v) value = static_cast<double>(random()) / 4294967296.0 - 0.5;
  Blocks blocks(num_groups());
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t g = 0; g < num_groups(); ++g) {
      const std::size_t k = size(g);
      if (k == 0) continue;
      const Vector rows(&reduced_[offsets_[g] * n], &reduced_[(offsets_[g] + k - 1) * n] + n);
      const Vector pull = product(root[g], product(rows, v, k, n, rank), k, k, rank);
      const Vector squared = square(pull, k, rank);
      double trace = 0.0;
      for (std::size_t i = 0; i < k; ++i) trace += squared[i * k + i];
      const double floor = 1e-12 * trace + 1e-300;
      // The polar factor of the pull, turned around, is the best direction.
      const Vector direction = product(to_power(squared, k, -0.5, floor), pull, k, k, rank);
      const Vector best = product(root[g], direction, k, k, rank);
      for (std::size_t i = 0; i < k * rank; ++i) v[offsets_[g] * rank + i] = -best[i];
      const Vector length = to_power(squared, k, 0.5, floor);
      blocks[g] = product(product(inverse_root[g], length, k, k, k), inverse_root[g], k, k, k);
    }
  }
  // What is left to convexity after finitely many steps.
  return scaled_to_convex(std::move(blocks));
}

Convexifier::Blocks Convexifier::scaled_to_convex(Blocks blocks) const {
  double high = 1.0;
  // Blocks that no factor makes convex (of groups whose changes are nearly nothing) give no bound.
  while (!is_convex(blocks, high) && std::isfinite(high)) high *= 2.0;
  double low = 0.0;
  // Where nothing interacts every factor is enough.
  constexpr double kLeast = 1e-12;
  while (std::isfinite(high) && high > kLeast && high - low > 1e-3 * high) {
    const double middle = (low + high) / 2.0;
    (is_convex(blocks, middle) ? high : low) = middle;
  }
  for (Vector& block : blocks) {
    for (double& value : block) value *= high;
  }
  return blocks;
}

Convexifier::Blocks Convexifier::own_blocks(const BudgetProblem& problem) const {
  const std::size_t n = choice_offsets_.back();
  double largest = 0.0;
  for (const auto& group : problem.loss) {
    for (const double loss : group) largest = std::max(largest, std::abs(loss));
  }
  Blocks blocks;
  for (std::size_t g = 0; g < num_groups(); ++g) {
    const std::size_t k = size(g);
    const std::size_t first = choice_offsets_[g];
    Vector& block = blocks.emplace_back(k * k, 0.0);
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        const std::size_t a = first + i + 1;
        const std::size_t b = first + j + 1;
        block[i * k + j] =
            problem.interactions[a * n + b] - problem.interactions[first * n + a] -
            problem.interactions[first * n + b] + std::abs(problem.loss[g][0]) +
            (i == j ? std::abs(problem.loss[g][i + 1]) + 1e-9 * largest + 1e-300 : 0.0);
      }
    }
    block = to_power(block, k, 1.0, 1e-9 * largest + 1e-300);
  }
  return scaled_to_convex(std::move(blocks));
}

std::vector<double> Convexifier::matrix_with(const Blocks& blocks) const {
  const std::size_t n = choice_offsets_.back();
  Vector matrix = between_;
  for (std::size_t g = 0; g < num_groups(); ++g) {
    const std::size_t first = choice_offsets_[g] + 1;
    for (std::size_t i = 0; i < size(g); ++i) {
      for (std::size_t j = 0; j < size(g); ++j)
        matrix[(first + i) * n + first + j] = blocks[g][i * size(g) + j];
    }
  }
  return matrix;
}

}  // namespace bitsweep::allocate
