#pragma once

#include <string>

#include "bitsweep/qdq_export.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace bitsweep::cli {

/// Where the weights of a written model go: "auto", "always" or "never" into a file beside it.
struct WeightsFileArgument {
  std::string external_data = "auto";
  std::string inline_limit;

  void add_to(CLI::App* command);
  SaveOptions options() const;
};

/// Form of a QDQ model.
struct QdqArguments {
  std::string weights = "integer";
  std::string activations = "unsigned";
  std::string target = "onnx";
  WeightsFileArgument weights_file;
  bool no_int32_bias = false;
  bool two_bit_types = false;
  bool no_verify = false;

  void add_to(CLI::App* command);
  QdqOptions options() const;
};

}  // namespace bitsweep::cli
