#include <utility>

#include "bitsweep/encodings_file.h"
#include "bitsweep/qdq_export.h"
#include "export/untie_quantizers.h"

namespace bitsweep {

Model encodings_to_onnx_qdq(const Model& model, const std::filesystem::path& file,
                            QdqOptions options, SimulationOptions simulation_options) {
  // Whatever the rules of the simulation that wrote the file: here any tensor may have an encoding
  // of its own, and none has one because of another.
  simulation_options.rules = "per_node";
  Simulation simulation(model, std::move(simulation_options));
  exporting::untie_quantizers(simulation);
  load_encodings(simulation, file, {.strict = false});
  options.loaded_bias = true;
  return to_onnx_qdq(simulation, options);
}

}  // namespace bitsweep
