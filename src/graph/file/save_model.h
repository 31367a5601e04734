#pragma once

#include <filesystem>
#include <string>

#include "bitsweep/model.h"

namespace bitsweep::graph {

/// Model::save() with a name for the data file, which lies beside the model; empty: "<file>.data".
void save_model(const Model& model, const std::filesystem::path& path, const SaveOptions& options,
                const std::string& data_name = {});

}  // namespace bitsweep::graph
