#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/passes/model_edit.h"

namespace bitsweep::graph {

/// A static tensor that only one node reads, laid out as that node sees it.
struct StaticParameter {
  onnx::TensorProto* message = nullptr;
  std::string tensor;  ///< name under which the message can be read directly
  Shape shape;
  std::vector<double> values;
};

/// Why something can't be rewritten: the end of a sentence that begins with its name.
using Refusal = std::string;

/// Follows Identity and Transpose nodes up to an initializer or Constant.
std::variant<StaticParameter, Refusal> read_parameter(ModelEdit* edit, const std::string& tensor);

/// Conv, ConvTranspose, Gemm or MatMul with weight and bias as numbers.
///
/// Every weight is seen as [rows, columns, kernel]; which of the first two counts output channels
/// depends on the operator. Gemm comes with alpha and beta multiplied in.
struct LinearLayer {
  int node = -1;
  StaticParameter weight;
  std::optional<StaticParameter> bias;  ///< one value per output channel
  std::int64_t group = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t kernel = 0;
  bool outputs_are_rows = false;
  std::int64_t out_channels = 0;
  std::int64_t in_channels = 0;

  bool is_depthwise() const { return group > 1 && group == in_channels && group == out_channels; }

  /// Calls visit(output channel, input channel, value) for every weight.
  template <typename Visit>
  void for_each_weight(Visit visit) {
    double* value = weight.values.data();
    const std::int64_t rows_per_group = rows / group;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        // The other axis of a grouped weight counts inside the group that the row belongs to.
        const std::int64_t other = r / rows_per_group * columns + c;
        for (std::int64_t k = 0; k < kernel; ++k, ++value) {
          visit(static_cast<std::size_t>(outputs_are_rows ? r : other),
                static_cast<std::size_t>(outputs_are_rows ? other : r), *value);
        }
      }
    }
  }

  /// Adds a bias of zeros when there is none.
  std::vector<double>& bias_values();
};

bool is_linear_layer(const ModelEdit& edit, int node);

std::variant<LinearLayer, Refusal> read_layer(ModelEdit* edit, int node);

/// Writes weight and bias back; a MatMul with a bias becomes Gemm, so its input must be a matrix.
void write_layer(ModelEdit* edit, LinearLayer layer);

}  // namespace bitsweep::graph
