#pragma once

#include <memory>
#include <string>

#include "bitsweep/data.h"
#include "options.h"

namespace bitsweep::cli {

/// Where the samples of a mix come from.
struct MixDataArguments {
  DataArguments data;
  std::string test_data;
  std::string test_labels;

  void add_to(CLI::App* command);
};

/// Samples for the three uses of a mix. Without test data every fourth sample is kept apart.
struct MixSamples {
  MixSamples(const MixDataArguments& arguments, const Model& model);

  SampleSource* calibration = nullptr;
  SampleSource* search = nullptr;
  SampleSource* test = nullptr;  ///< null when there are too few samples

 private:
  std::unique_ptr<DataSource> data_;
  std::unique_ptr<DataSource> second_;  // the same again: each part is gone through on its own
  std::unique_ptr<DataSource> test_file_;
  std::unique_ptr<DataSource> calibration_file_;
  std::unique_ptr<SampleSource> search_part_;
  std::unique_ptr<SampleSource> test_part_;
};

}  // namespace bitsweep::cli
