#include <algorithm>
#include <optional>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/names.h"
#include "data/input_rules.h"
#include "data/layouts.h"
#include "graph/file/tensor_file.h"

// ONNX test data: a folder per sample with input_0.pb, input_1.pb, ... in the order of the model's
// inputs.

namespace bitsweep::data {
namespace {

namespace fs = std::filesystem;

class TestDataSource final : public DataSource {
 public:
  TestDataSource(std::vector<ValueInfo> inputs, const std::vector<fs::path>& sets,
                 const DataOptions& options)
      : inputs_(std::move(inputs)) {
    for (const fs::path& set : sets) {
      Set found{.folder = set, .files = {}};
      for (const fs::path& entry : sorted_entries(set)) {
        if (entry.extension() == ".pb" && entry.filename().string().starts_with("input_"))
          found.files.push_back(entry);
      }
      if (found.files.size() < inputs_.size()) {
        throw Error(ErrorCode::kInvalidData, "data",
                    set.string() + " holds " + std::to_string(found.files.size()) +
                        " input files, but the model takes " + std::to_string(inputs_.size()) +
                        " inputs: " + quoted_list(input_names(inputs_)),
                    "save one input_N.pb for each input");
      }
      sets_.push_back(std::move(found));
    }
    if (options.max_samples >= 0)
      sets_.resize(std::min(sets_.size(), static_cast<std::size_t>(options.max_samples)));
  }

  bool next(Feed* feed) override {
    if (sample_ == sets_.size()) return false;
    const Set& set = sets_[sample_];
    std::vector<graph::NamedTensor> tensors;
    tensors.reserve(set.files.size());
    for (const fs::path& file : set.files) tensors.push_back(graph::read_tensor_file(file));
    feed->clear();
    // Names decide when the files carry those of all inputs; else the numbers of the files do.
    std::vector<std::size_t> places;
    for (const ValueInfo& input : inputs_) {
      const std::optional<std::size_t> place = find(tensors, input.name);
      if (place) places.push_back(*place);
    }
    const bool named = places.size() == inputs_.size();
    if (!named && tensors.size() > inputs_.size()) {
      throw Error(ErrorCode::kInvalidData, "data",
                  set.folder.string() + " holds " + std::to_string(tensors.size()) +
                      " input files, but the model takes " + std::to_string(inputs_.size()) +
                      " inputs: " + quoted_list(input_names(inputs_)),
                  "remove the files that belong to no input");
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::size_t at = named ? places[i] : i;
      const std::string origin = set.files[at].string();
      check_tensor(inputs_[i], tensors[at].value, origin);
      check_finite(tensors[at].value, inputs_[i].name, static_cast<std::int64_t>(sample_), origin);
      feed->emplace(inputs_[i].name, tensors[at].value);
    }
    ++sample_;
    return true;
  }

  void rewind() override { sample_ = 0; }
  std::int64_t size() const override { return static_cast<std::int64_t>(sets_.size()); }
  std::vector<std::string> unused() const override { return {}; }

 private:
  struct Set {
    fs::path folder;
    std::vector<fs::path> files;
  };

  static std::optional<std::size_t> find(const std::vector<graph::NamedTensor>& tensors,
                                         const std::string& name) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].name == name) return i;
    }
    return std::nullopt;
  }

  std::vector<ValueInfo> inputs_;
  std::vector<Set> sets_;
  std::size_t sample_ = 0;
};

}  // namespace

std::unique_ptr<DataSource> open_test_data(const std::vector<fs::path>& sets,
                                           const std::vector<ValueInfo>& inputs,
                                           const DataOptions& options) {
  return std::make_unique<TestDataSource>(inputs, sets, options);
}

}  // namespace bitsweep::data
