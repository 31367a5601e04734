#pragma once

#include <string>

#include "bitsweep/qdq_export.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace bitsweep::cli {

/// Form of a QDQ model.
struct QdqArguments {
  std::string weights = "integer";
  std::string activations = "unsigned";
  std::string target = "onnx";
  bool no_int32_bias = false;
  bool no_verify = false;

  void add_to(CLI::App* command);
  QdqOptions options() const;
};

}  // namespace bitsweep::cli
