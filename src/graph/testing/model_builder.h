#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bitsweep/model.h"
#include "bitsweep/tensor.h"

namespace bitsweep::graph::testing {

/// Writes small ONNX models for tests in a few words.
///
///     ModelBuilder m;
///     m.input("x", {-1, 4});
///     m.floats("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
///     m.node("h = MatMul(x, w)");
///     m.node("a, b = Split(h) {axis: 1, num_outputs: 2}");
///     m.output("a");
///     Model model = m.model();
///
/// Node text: outputs, "=", an operator (domain::Type for another domain), inputs (empty between
/// commas when absent) and attributes: integers, floats (with a point), "strings", lists of these.
/// The attribute `name` names the node.
class ModelBuilder {
 public:
  ModelBuilder();
  ~ModelBuilder();
  ModelBuilder(ModelBuilder&&) noexcept;

  ModelBuilder& ir_version(std::int64_t version);
  ModelBuilder& opset(std::int64_t version, const std::string& domain = "");

  /// Dimensions of -1 become symbols "d0", "d1", ....
  ModelBuilder& input(const std::string& name, const Shape& shape,
                      DataType type = DataType::kFloat);
  ModelBuilder& output(const std::string& name, DataType type = DataType::kUndefined);
  ModelBuilder& value_info(const std::string& name, const Shape& shape,
                           DataType type = DataType::kFloat);

  ModelBuilder& initializer(const std::string& name, const Tensor& value);
  ModelBuilder& floats(const std::string& name, const Shape& shape,
                       const std::vector<float>& values);
  ModelBuilder& ints(const std::string& name, const Shape& shape,
                     const std::vector<std::int64_t>& values);
  /// Reproducible values in [-1, 1).
  ModelBuilder& random(const std::string& name, const Shape& shape, std::uint64_t seed = 1);

  /// `bodies`: graph attributes; their builders hold inputs, nodes and outputs only.
  ModelBuilder& node(std::string_view text,
                     const std::vector<std::pair<std::string, const ModelBuilder*>>& bodies = {});
  /// A Constant node with the attribute "value".
  ModelBuilder& constant(const std::string& output, const Tensor& value);
  /// A function of the model: text "y, z = domain::Name(a, b) {attribute: default}", body as nodes
  /// of another builder.
  ModelBuilder& function(std::string_view signature, const ModelBuilder& body,
                         const std::vector<std::string>& attributes = {});

  std::string bytes() const;
  Model model() const;

  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// float32 tensor with these values.
Tensor tensor(const Shape& shape, const std::vector<float>& values);
Tensor tensor(const Shape& shape, const std::vector<std::int64_t>& values);

}  // namespace bitsweep::graph::testing
