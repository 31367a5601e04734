#include "bitsweep/data.h"
#include "bitsweep/error.h"
#include "data/layouts.h"

namespace bitsweep {

std::unique_ptr<DataSource> open_samples(const std::filesystem::path& path, const Model& model,
                                         const DataOptions& options) {
  if (options.batch_size < 0) {
    throw Error(ErrorCode::kInvalidArgument, "data",
                "the batch size is " + std::to_string(options.batch_size),
                "give a positive number, or 0 for the model's own");
  }
  if (options.max_samples == 0) {
    throw Error(ErrorCode::kInvalidArgument, "data", "0 samples were asked for",
                "ask for at least one");
  }
  return data::open_layout(path, model.inputs(), options);
}

}  // namespace bitsweep
