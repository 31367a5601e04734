#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bitsweep/model.h"
#include "bitsweep/tensor.h"
#include "data/npy.h"

namespace bitsweep::data {

/// How an array that holds one or more samples is cut into tensors for a model input.
struct ArrayPlan {
  enum class Cut {
    kRows,   ///< slices of `rows` along the first dimension, which is the model's batch dimension
    kItems,  ///< one item of the first dimension, which the model's input does not have
    kWhole,  ///< one sample, a leading dimension of 1 added when the model's input has one more
    kConstant,  ///< a scalar: the same for every sample
  };
  Cut cut = Cut::kRows;
  std::int64_t rows = 1;
  std::int64_t num_samples = 0;  ///< -1 for constants
  DataType type = DataType::kUndefined;
};

/// Checks element type, rank and fixed dimensions of an array and decides how to cut it.
/// `batch_size` as in DataOptions.
/// @throws Error(kInvalidData) with the array, what the model declares and how to convert.
ArrayPlan plan_array(const ValueInfo& input, const NpyHeader& header, const std::string& array,
                     std::int64_t batch_size);

/// Checks a tensor that is one sample's input as it stands.
void check_tensor(const ValueInfo& input, const Tensor& tensor, const std::string& origin);

/// @throws Error(kInvalidData) when a floating-point tensor holds NaN or infinities; names input,
/// sample and origin.
void check_finite(const Tensor& tensor, const std::string& input, std::int64_t sample,
                  const std::string& origin);

/// Declared shape as in "[batch,3,224,224]"; "any shape" when the model declares none.
std::string declared_shape_text(const ValueInfo& input);

/// Checks that every input has an array among `available`. @throws Error(kInvalidData) that lists
/// both sides and suggests the closest name.
void require_names(std::span<const ValueInfo> inputs, std::span<const std::string> available,
                   const std::string& origin, const std::string& kind);

/// Names of `available` that are no inputs.
std::vector<std::string> names_beyond(std::span<const ValueInfo> inputs,
                                      std::span<const std::string> available);

std::vector<std::string> input_names(std::span<const ValueInfo> inputs);

}  // namespace bitsweep::data
