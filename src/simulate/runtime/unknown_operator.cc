#include "simulate/runtime/unknown_operator.h"

#include <string>

namespace bitsweep::simulate {

void explain_unknown_operator(const graph::Graph& graph, const Error& refusal) {
  const std::string text = refusal.what();
  if (text.find("is not a registered function/op") == std::string::npos) return;
  for (const graph::Node& node : graph.nodes()) {
    // The runtime writes "domain:Type(version)"; nothing before the type in the standard domain.
    const std::string type = node.domain.empty() ? node.op_type : node.domain + ":" + node.op_type;
    if (text.find(" " + type + "(") == std::string::npos) continue;
    throw Error(
        ErrorCode::kRuntime, "simulate",
        "node \"" + node.name + "\" is the operator " + type + ", which ONNX Runtime does not know",
        "pass the library that has it: --custom-op-library, in Python user_onnx_libs");
  }
}

}  // namespace bitsweep::simulate
