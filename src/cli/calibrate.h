#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bitsweep/data.h"
#include "bitsweep/simulation.h"
#include "options.h"
#include "progress.h"

namespace bitsweep::cli {

/// A remark on stderr.
void note(const std::string& text);

/// The samples of --data.
std::unique_ptr<DataSource> open_data(const DataArguments& arguments, const Model& model);
/// The same with --labels, for metrics that may need them; notes arrays that no input takes.
/// @throws Error(kInvalidArgument) when a metric needs labels and there are none.
std::unique_ptr<DataSource> open_data_for(const std::vector<std::string>& metrics,
                                          const DataArguments& arguments, const Model& model);
/// Those of --calibration-data; as many as of --data, and the same, when it is not given.
std::unique_ptr<DataSource> open_calibration_data(const DataArguments& arguments,
                                                  const Model& model);

/// Runs every sample and turns what was seen into encodings; returns the number of samples. After
/// an exception (an interrupt is one) the simulation is as before.
std::int64_t calibrate(Simulation& simulation, SampleSource& samples, ProgressReporter& reporter);

}  // namespace bitsweep::cli
