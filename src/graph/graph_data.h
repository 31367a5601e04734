#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/bodies/bodies.h"
#include "graph/file/model_impl.h"
#include "graph/graph.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Where the value of a static tensor is: a message of the file, or a value computed when the graph
/// was built.
struct StaticSource {
  const onnx::TensorProto* proto = nullptr;
  Tensor value;
};

/// The messages behind a Graph, for the files of this folder that write ONNX.
struct Graph::Data {
  std::shared_ptr<const Model::Impl> model;
  std::deque<onnx::NodeProto> expanded;         ///< nodes that came out of functions
  std::vector<const onnx::NodeProto*> nodes;    ///< by node index; names are those of Graph::nodes
  std::vector<StaticSource> statics;            ///< by tensor id
  std::vector<const onnx::TypeProto*> types;    ///< by tensor id; declared type or null
  std::map<std::string, std::int64_t> imports;  ///< operator sets, "" for ai.onnx
  std::vector<std::string> inlined_functions;   ///< "domain::name" of those that are called
  std::vector<const onnx::FunctionProto*> functions;  ///< that could not be inlined
  UniqueNames names;  ///< knows every tensor name of the graph and its bodies
};

}  // namespace bitsweep::graph
