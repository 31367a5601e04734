#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/model.h"
#include "bitsweep/sweep.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

struct DataOptions {
  std::int64_t max_samples = -1;  ///< stop after this many; -1: all
  /// Rows of the first dimension per sample when a file stacks samples; 0: the model's fixed first dimension, else 1.
  std::int64_t batch_size = 0;
};

/// Opens samples for a model:
///   - a .npz file: one array per model input, stacked along the first dimension; arrays that name no input are ignored
///     (labels), and listed by unused();
///   - a folder of .npz files: one sample (or stack) each;
///   - a folder of .npy files (one input): one sample each; or sub-folders named after the inputs, files paired by name;
///   - an ONNX test-data folder (test_data_set_*/input_*.pb), or one such set.
/// Elements are read as stored: a float64 array for a float32 input is an error that says how to convert it.
/// @throws Error(kNotFound | kInvalidData | kIo).
std::unique_ptr<SampleSource> open_samples(const std::filesystem::path& path, const Model& model,
                                           const DataOptions& options = {});

/// Reads one .npy array (version 1 to 3, C or Fortran order, little endian).
Tensor read_npy(const std::filesystem::path& path);

}  // namespace bitsweep
