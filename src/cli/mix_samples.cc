#include "mix_samples.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"
#include "calibrate.h"

namespace bitsweep::cli {
namespace {

// Without test data every fourth sample is kept for the final check.
constexpr int kTestPeriod = 4;

std::unique_ptr<DataSource> labelled(std::unique_ptr<DataSource> samples, const std::string& labels,
                                     const std::string& data) {
  if (labels.empty()) return samples;
  return with_labels(std::move(samples), read_labels(labels, data));
}

}  // namespace

void MixDataArguments::add_to(CLI::App* command) {
  data.add_to(command);
  data.add_calibration_to(command);
  data.add_labels_to(command);
  command->add_option("--test-data", test_data, "samples for the final check only")
      ->type_name("PATH");
  command->add_option("--test-labels", test_labels, "the truth of --test-data, as --labels")
      ->type_name("NAME|FILE");
}

MixSamples::MixSamples(const MixDataArguments& arguments, const Model& model) {
  const DataArguments& data = arguments.data;
  if (arguments.test_data.empty() && !arguments.test_labels.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "options", "--test-labels without --test-data",
                "name the test data too, or use --labels for those of --data");
  }
  const auto open = [&](const std::string& path, std::int64_t max_samples) {
    return open_samples(path, model, {.max_samples = max_samples, .batch_size = data.batch_size});
  };
  data_ = labelled(open(data.data, data.num_samples), data.labels, data.data);
  search = data_.get();
  if (!arguments.test_data.empty()) {
    test_file_ =
        labelled(open(arguments.test_data, -1), arguments.test_labels, arguments.test_data);
    test = test_file_.get();
  } else if (data_->size() < 0 || data_->size() >= kTestPeriod) {
    second_ = labelled(open(data.data, data.num_samples), data.labels, data.data);
    search_part_ = split_samples(*data_, kTestPeriod, false);
    test_part_ = split_samples(*second_, kTestPeriod, true);
    search = search_part_.get();
    test = test_part_.get();
    note("every fourth sample of --data is kept for the final check; give others with --test-data");
  } else {
    note("too few samples to keep some for a final check");
  }
  calibration = search;
  if (!data.calibration_data.empty()) {
    calibration_file_ = open(data.calibration_data, data.num_calibration_samples);
    calibration = calibration_file_.get();
  }
}

}  // namespace bitsweep::cli
