#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bitsweep/data.h"
#include "bitsweep/simulation.h"
#include "progress.h"

namespace bitsweep::cli {

/// A remark on stderr.
void note(const std::string& text);

std::unique_ptr<DataSource> open_data(const std::string& path, const Model& model,
                                      std::int64_t max_samples, std::int64_t batch_size);

/// Runs every sample and turns what was seen into encodings; returns the number of samples. After
/// an exception (an interrupt is one) the simulation is as before.
std::int64_t calibrate(Simulation& simulation, SampleSource& samples, ProgressReporter& reporter);

}  // namespace bitsweep::cli
