#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bitsweep/data.h"
#include "data/input_rules.h"

namespace bitsweep::data {

/// Where an array is: an .npy file, or a member of an .npz file.
struct ArrayLocation {
  std::filesystem::path file;
  std::string member;  ///< empty for .npy files
};

/// Arrays that belong together: one for each input, all with the same number of samples.
struct ArraySet {
  std::string name;                             ///< for messages
  std::map<std::string, ArrayLocation> arrays;  ///< by input
};

/// Samples from arrays, one set after another. Headers are checked at once, elements are read when
/// they are asked for.
///
/// @throws Error(kInvalidData | kIo) for arrays that do not fit the inputs or one another.
std::unique_ptr<DataSource> make_array_source(std::vector<ValueInfo> inputs,
                                              std::vector<ArraySet> sets,
                                              std::vector<std::string> unused,
                                              const DataOptions& options);

}  // namespace bitsweep::data
