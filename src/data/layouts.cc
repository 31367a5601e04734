#include "data/layouts.h"
#include "bitsweep/names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <system_error>

#include "bitsweep/error.h"
#include "data/array_source.h"
#include "data/byte_stream.h"

namespace bitsweep::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKnown =
    "give an .npz file, a folder of .npz or .npy files, or an ONNX test-data folder (input_*.pb)";

// Numbers inside names compare as numbers.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto number_end = [&](const std::string& text, std::size_t from) {
      while (from < text.size() && digit(text[from])) ++from;
      return from;
    };
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    const std::size_t a_end = number_end(a, i);
    const std::size_t b_end = number_end(b, j);
    if (a_end - i != b_end - j) return a_end - i < b_end - j;
    const int order = a.compare(i, a_end - i, b, j, b_end - j);
    if (order != 0) return order < 0;
    i = a_end;
    j = b_end;
  }
  if ((i < a.size()) != (j < b.size())) return j < b.size();
  return a < b;
}

std::vector<fs::path> with_extension(const std::vector<fs::path>& entries, const char* extension) {
  std::vector<fs::path> found;
  for (const fs::path& entry : entries) {
    if (entry.extension() == extension && fs::is_regular_file(entry)) found.push_back(entry);
  }
  return found;
}

std::vector<std::string> stems(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const fs::path& file : files) names.push_back(file.stem().string());
  return names;
}

// Input names may hold characters that file names avoid.
std::string as_file_name(std::string name) {
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == ':'; }, '_');
  return name;
}

ArraySet npz_set(const fs::path& file, const std::vector<ValueInfo>& inputs,
                 std::set<std::string>* unused) {
  const Archive archive(file);
  if (archive.names().empty()) {
    throw Error(ErrorCode::kInvalidData, "data", file.string() + " holds no arrays",
                "write it with numpy.savez");
  }
  require_names(inputs, archive.names(), file.string(), "array");
  ArraySet set{.name = file.string(), .arrays = {}};
  for (const ValueInfo& input : inputs)
    set.arrays[input.name] = {.file = file, .member = input.name};
  for (const std::string& name : names_beyond(inputs, archive.names())) unused->insert(name);
  return set;
}

std::unique_ptr<DataSource> open_npz_files(const std::vector<fs::path>& files,
                                           const std::vector<ValueInfo>& inputs,
                                           const DataOptions& options) {
  std::vector<ArraySet> sets;
  sets.reserve(files.size());
  std::set<std::string> unused;
  for (const fs::path& file : files) sets.push_back(npz_set(file, inputs, &unused));
  return make_array_source(inputs, std::move(sets), {unused.begin(), unused.end()}, options);
}

// One file for each input, named after it.
std::unique_ptr<DataSource> open_named_files(const fs::path& folder,
                                             const std::vector<fs::path>& files,
                                             const std::vector<ValueInfo>& inputs,
                                             const DataOptions& options) {
  ArraySet set{.name = folder.string(), .arrays = {}};
  std::vector<std::string> unused;
  for (const fs::path& file : files) {
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const ValueInfo& candidate) {
      return as_file_name(candidate.name) == file.stem().string() ||
             candidate.name == file.stem().string();
    });
    if (input == inputs.end()) {
      unused.push_back(file.filename().string());
    } else {
      set.arrays[input->name] = {.file = file, .member = ""};
    }
  }
  return make_array_source(inputs, {std::move(set)}, std::move(unused), options);
}

// One sub-folder for each input; files with the same name belong together.
std::unique_ptr<DataSource> open_input_folders(const fs::path& folder,
                                               const std::vector<fs::path>& entries,
                                               const std::vector<ValueInfo>& inputs,
                                               const DataOptions& options) {
  std::vector<std::string> folders;
  std::map<std::string, std::vector<fs::path>> files;
  for (const fs::path& entry : entries) {
    if (!fs::is_directory(entry)) continue;
    std::string name = entry.filename().string();
    for (const ValueInfo& input : inputs) {
      if (as_file_name(input.name) == name) name = input.name;
    }
    folders.push_back(name);
    files[name] = with_extension(sorted_entries(entry), ".npy");
  }
  require_names(inputs, folders, folder.string(), "sub-folder");
  const std::vector<fs::path>& leaders = files[inputs[0].name];
  if (leaders.empty()) {
    throw Error(ErrorCode::kInvalidData, "data",
                (folder / inputs[0].name).string() + " holds no .npy files",
                "save one file per sample");
  }
  std::vector<ArraySet> sets;
  sets.reserve(leaders.size());
  for (const fs::path& leader : leaders) {
    sets.push_back({.name = leader.filename().string(),
                    .arrays = {{inputs[0].name, {.file = leader, .member = ""}}}});
  }
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const std::vector<fs::path>& others = files[inputs[i].name];
    const std::vector<std::string> here = stems(others);
    const std::vector<std::string> there = stems(leaders);
    for (std::size_t k = 0; k < std::max(here.size(), there.size()); ++k) {
      if (k < here.size() && k < there.size() && here[k] == there[k]) {
        sets[k].arrays[inputs[i].name] = {.file = others[k], .member = ""};
        continue;
      }
      const bool extra =
          k >= there.size() ||
          (k < here.size() && std::find(there.begin(), there.end(), here[k]) == there.end());
      const std::string lonely = (extra ? here[k] : there[k]) + ".npy";
      throw Error(ErrorCode::kInvalidData, "data",
                  "file " + lonely + " of input \"" + (extra ? inputs[i].name : inputs[0].name) +
                      "\" has no partner of input \"" + (extra ? inputs[0].name : inputs[i].name) +
                      "\" in " + folder.string(),
                  "save each sample under the same file name in every sub-folder");
    }
  }
  return make_array_source(inputs, std::move(sets), names_beyond(inputs, folders), options);
}

std::unique_ptr<DataSource> open_npy_folder(const fs::path& folder,
                                            const std::vector<fs::path>& files,
                                            const std::vector<ValueInfo>& inputs,
                                            const DataOptions& options) {
  const std::vector<std::string> names = stems(files);
  const auto has_file = [&](const ValueInfo& input) {
    return std::find(names.begin(), names.end(), input.name) != names.end() ||
           std::find(names.begin(), names.end(), as_file_name(input.name)) != names.end();
  };
  if (std::all_of(inputs.begin(), inputs.end(), has_file))
    return open_named_files(folder, files, inputs, options);
  if (inputs.size() > 1) {
    if (std::any_of(inputs.begin(), inputs.end(), has_file))
      require_names(inputs, names, folder.string(), "file");
    throw Error(ErrorCode::kInvalidData, "data",
                folder.string() + " holds .npy files, but the model takes " +
                    std::to_string(inputs.size()) + " inputs: " + quoted_list(input_names(inputs)),
                "make one sub-folder for each input, or one .npy file named after each");
  }
  std::vector<ArraySet> sets;
  sets.reserve(files.size());
  for (const fs::path& file : files) {
    sets.push_back(
        {.name = file.string(), .arrays = {{inputs[0].name, {.file = file, .member = ""}}}});
  }
  return make_array_source(inputs, std::move(sets), {}, options);
}

bool is_test_data_set(const fs::path& folder) {
  const std::vector<fs::path> entries = sorted_entries(folder);
  return std::any_of(entries.begin(), entries.end(), [](const fs::path& entry) {
    return entry.extension() == ".pb" && entry.filename().string().starts_with("input_");
  });
}

std::unique_ptr<DataSource> open_folder(const fs::path& folder,
                                        const std::vector<ValueInfo>& inputs,
                                        const DataOptions& options) {
  const std::vector<fs::path> entries = sorted_entries(folder);
  const std::vector<fs::path> npz = with_extension(entries, ".npz");
  const std::vector<fs::path> npy = with_extension(entries, ".npy");
  if (!npz.empty() && !npy.empty()) {
    throw Error(ErrorCode::kInvalidData, "data",
                folder.string() + " holds both .npz and .npy files", "keep one kind in the folder");
  }
  if (!npz.empty()) return open_npz_files(npz, inputs, options);
  if (!npy.empty()) return open_npy_folder(folder, npy, inputs, options);
  if (is_test_data_set(folder)) return open_test_data({folder}, inputs, options);

  std::vector<fs::path> sets;
  bool has_folders = false;
  for (const fs::path& entry : entries) {
    if (!fs::is_directory(entry)) continue;
    has_folders = true;
    if (is_test_data_set(entry)) sets.push_back(entry);
  }
  if (!sets.empty()) return open_test_data(sets, inputs, options);
  if (has_folders) return open_input_folders(folder, entries, inputs, options);
  throw Error(ErrorCode::kInvalidData, "data",
              folder.string() + (entries.empty() ? " is an empty folder"
                                                 : " holds no samples that bitsweep can read"),
              kKnown);
}

}  // namespace

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    // Hidden files belong to the file system's tools, not to the data.
    if (!it->path().filename().string().starts_with(".")) entries.push_back(it->path());
  }
  if (failure) {
    throw Error(ErrorCode::kIo, "data", folder.string() + " cannot be listed: " + failure.message(),
                "check the permissions of the folder");
  }
  std::sort(entries.begin(), entries.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  return entries;
}

std::unique_ptr<DataSource> open_layout(const fs::path& path, const std::vector<ValueInfo>& inputs,
                                        const DataOptions& options) {
  if (inputs.empty()) {
    throw Error(ErrorCode::kInvalidModel, "data",
                "the model takes no inputs, so no sample can change its outputs",
                "choose a model with inputs");
  }
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status)) {
    throw Error(ErrorCode::kNotFound, "data", path.string() + " does not exist", "check the path");
  }
  if (fs::is_directory(status)) return open_folder(path, inputs, options);
  if (path.extension() == ".npz") return open_npz_files({path}, inputs, options);
  if (path.extension() == ".npy") {
    if (inputs.size() == 1) {
      ArraySet set{.name = path.string(),
                   .arrays = {{inputs[0].name, {.file = path, .member = ""}}}};
      return make_array_source(inputs, {std::move(set)}, {}, options);
    }
    throw Error(ErrorCode::kInvalidData, "data",
                path.string() + " is one array, but the model takes " +
                    std::to_string(inputs.size()) + " inputs: " + quoted_list(input_names(inputs)),
                "save an .npz file with one array named after each input");
  }
  require_readable_file(path);
  throw Error(ErrorCode::kInvalidData, "data",
              path.string() + " is no file of samples that bitsweep can read", kKnown);
}

}  // namespace bitsweep::data
