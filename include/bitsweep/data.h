#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/model.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

struct DataOptions {
  std::int64_t max_samples = -1;  ///< stop after this many; -1: all
  /// Rows of the first dimension per sample when an array stacks samples; 0: the model's fixed
  /// first dimension, else 1.
  std::int64_t batch_size = 0;
};

/// Samples from files. Memory holds one sample at a time, whatever the size of the files; the
/// exception are arrays in Fortran order, which are held whole.
class DataSource : public SampleSource {
 public:
  /// Arrays (or files, or sub-folders) that name no model input, such as labels.
  virtual std::vector<std::string> unused() const = 0;
};

/// Opens samples for a model:
///   - an .npz file: one array per model input, named after it; further arrays (labels) are ignored
///     and listed by unused();
///   - a folder of .npz files, read one after another;
///   - an .npy file or a folder of them (models with one input);
///   - a folder with one .npy file per input, named after it;
///   - a folder with one sub-folder per input, its .npy files paired by name;
///   - an ONNX test-data folder (test_data_set_*/input_*.pb), or one such set.
///
/// An array of the input's rank stacks samples along the first dimension; one more dimension in
/// front counts samples; one dimension less is a single sample without its batch dimension; a
/// scalar holds for every sample. Names in folders are ordered by the numbers in them: "2" before
/// "10". Elements are taken as stored: a float64 array for a float32 input is an error that says
/// how to convert it, as are NaN and infinite values, found when the sample is read.
/// @throws Error(kNotFound | kInvalidData | kIo | kInvalidArgument).
std::unique_ptr<DataSource> open_samples(const std::filesystem::path& path, const Model& model,
                                         const DataOptions& options = {});

/// The same samples with labels, for metrics that compare with the truth. The first dimension of
/// `labels` counts samples, or rows of all samples one after another.
/// @throws Error(kInvalidData), at once or while reading, when the numbers do not fit.
std::unique_ptr<DataSource> with_labels(std::unique_ptr<DataSource> samples, Tensor labels);

/// Reads one array of an .npz file. @throws Error(kNotFound | kInvalidData | kIo).
Tensor read_npz(const std::filesystem::path& path, const std::string& array);

/// Reads one .npy array (version 1 to 3, C or Fortran order, little endian) in C order.
/// @throws Error(kNotFound | kInvalidData | kIo).
Tensor read_npy(const std::filesystem::path& path);

}  // namespace BITSWEEP_EXPORT bitsweep
