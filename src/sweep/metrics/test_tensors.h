#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "base/half.h"
#include "bitsweep/tensor.h"

namespace bitsweep::scoring::testing {

inline Tensor floats(Shape shape, const std::vector<float>& values) {
  Tensor tensor = Tensor::allocate(DataType::kFloat, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.mutable_floats().begin());
  return tensor;
}

inline Tensor halves(Shape shape, const std::vector<float>& values) {
  Tensor tensor = Tensor::allocate(DataType::kFloat16, std::move(shape));
  float_to_half(values.data(), static_cast<std::uint16_t*>(tensor.mutable_data()), values.size());
  return tensor;
}

inline Tensor integers(const std::vector<std::int64_t>& values) {
  Tensor tensor = Tensor::allocate(DataType::kInt64, {static_cast<std::int64_t>(values.size())});
  std::memcpy(tensor.mutable_data(), values.data(), values.size() * sizeof(std::int64_t));
  return tensor;
}

inline std::vector<float> normal(std::size_t n, unsigned seed, float deviation = 1.0F) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0.0F, deviation);
  std::vector<float> values(n);
  for (float& value : values) value = distribution(generator);
  return values;
}

inline std::vector<float> plus(std::vector<float> a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

}  // namespace bitsweep::scoring::testing
