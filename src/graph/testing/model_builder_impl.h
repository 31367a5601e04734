#pragma once

#include "graph/testing/model_builder.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph::testing {

/// The message under construction, for tests of this folder that need what the builder has no words
/// for.
struct ModelBuilder::Impl {
  onnx::ModelProto proto;
};

}  // namespace bitsweep::graph::testing
