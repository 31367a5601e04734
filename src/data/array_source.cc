#include "data/array_source.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "bitsweep/error.h"
#include "data/byte_stream.h"
#include "data/npy.h"

namespace bitsweep::data {
namespace {

// The open files of one set; archives outlive the streams into them.
class OpenSet {
 public:
  explicit OpenSet(const ArraySet& set) {
    for (const auto& [input, location] : set.arrays) {
      std::unique_ptr<ByteStream> stream;
      if (location.member.empty()) {
        stream = open_file_stream(location.file);
      } else {
        auto& archive = archives_[location.file.string()];
        if (archive == nullptr) archive = std::make_unique<Archive>(location.file);
        stream = archive->open(location.member);
      }
      readers_.emplace(input, NpyReader(std::move(stream)));
    }
  }
  NpyReader& reader(const std::string& input) { return readers_.at(input); }

 private:
  std::map<std::string, std::unique_ptr<Archive>> archives_;
  std::map<std::string, NpyReader> readers_;
};

Tensor with_shape(const Tensor& tensor, Shape shape) {
  return Tensor::borrow(tensor.type(), std::move(shape), tensor.data(),
                        std::make_shared<Tensor>(tensor));
}

Tensor read_sample(NpyReader& reader, const ArrayPlan& plan, std::int64_t sample) {
  switch (plan.cut) {
    case ArrayPlan::Cut::kRows: {
      // The last sample of a stack may have fewer rows.
      const std::int64_t rows = std::min(plan.rows, reader.header().shape[0] - sample * plan.rows);
      return reader.read_rows(rows, plan.type);
    }
    case ArrayPlan::Cut::kItems: {
      const Tensor row = reader.read_rows(1, plan.type);
      return with_shape(row, Shape(row.shape().begin() + 1, row.shape().end()));
    }
    case ArrayPlan::Cut::kWhole: {
      const Tensor whole = reader.read_all(plan.type);
      Shape shape = whole.shape();
      shape.insert(shape.begin(), 1);
      return with_shape(whole, std::move(shape));
    }
    case ArrayPlan::Cut::kConstant:
      break;
  }
  return reader.read_all(plan.type);
}

class ArraySource final : public DataSource {
 public:
  ArraySource(std::vector<ValueInfo> inputs, std::vector<ArraySet> sets,
              std::vector<std::string> unused, const DataOptions& options)
      : inputs_(std::move(inputs)),
        sets_(std::move(sets)),
        unused_(std::move(unused)),
        max_samples_(options.max_samples) {
    std::int64_t total = 0;
    for (const ArraySet& set : sets_) {
      plans_.push_back(plan_set(set, options.batch_size));
      total += plans_.back().num_samples;
    }
    size_ = max_samples_ >= 0 ? std::min(max_samples_, total) : total;
  }

  bool next(Feed* feed) override {
    // Another thread may ask before it hears of the error: it gets the same, not the rows behind.
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    try {
      return read_next(feed);
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }

  void rewind() override {
    open_.reset();
    constants_.clear();
    failure_ = nullptr;
    set_ = 0;
    in_set_ = 0;
    sample_ = 0;
  }

  std::int64_t size() const override { return size_; }
  std::vector<std::string> unused() const override { return unused_; }

 private:
  struct SetPlan {
    std::map<std::string, ArrayPlan> arrays;
    std::int64_t num_samples = 1;
  };

  bool read_next(Feed* feed) {
    if (sample_ == size_) return false;
    while (in_set_ == plans_[set_].num_samples) {
      open_.reset();
      constants_.clear();
      in_set_ = 0;
      ++set_;
    }
    if (open_ == nullptr) open_ = std::make_unique<OpenSet>(sets_[set_]);
    feed->clear();
    for (const ValueInfo& input : inputs_) {
      const ArrayPlan& plan = plans_[set_].arrays.at(input.name);
      NpyReader& reader = open_->reader(input.name);
      Tensor tensor;
      if (plan.num_samples <= 1) {
        Tensor& constant = constants_[input.name];
        if (!constant.defined()) constant = read_sample(reader, plan, 0);
        tensor = constant;
      } else {
        tensor = read_sample(reader, plan, in_set_);
      }
      check_finite(tensor, input.name, sample_, sets_[set_].name);
      feed->emplace(input.name, std::move(tensor));
    }
    ++in_set_;
    ++sample_;
    return true;
  }

  SetPlan plan_set(const ArraySet& set, std::int64_t batch_size) const {
    OpenSet open(set);
    SetPlan plan;
    const ValueInfo* first = nullptr;
    for (const ValueInfo& input : inputs_) {
      const NpyReader& reader = open.reader(input.name);
      const ArrayPlan array = plan_array(input, reader.header(), reader.name(), batch_size);
      plan.arrays.emplace(input.name, array);
      if (array.num_samples <= 1) continue;  // the same for all samples
      if (first == nullptr) {
        first = &input;
        plan.num_samples = array.num_samples;
      } else if (array.num_samples != plan.num_samples) {
        throw Error(ErrorCode::kInvalidData, "data",
                    set.name + " holds " + std::to_string(plan.num_samples) +
                        " samples of input \"" + first->name + "\" and " +
                        std::to_string(array.num_samples) + " of \"" + input.name + "\"",
                    "save the same number for every input, or one that holds for all: samples lie "
                    "along the first dimension");
      }
    }
    return plan;
  }

  std::vector<ValueInfo> inputs_;
  std::vector<ArraySet> sets_;
  std::vector<std::string> unused_;
  std::int64_t max_samples_;
  std::vector<SetPlan> plans_;
  std::int64_t size_ = 0;

  std::size_t set_ = 0;
  std::int64_t in_set_ = 0;
  std::int64_t sample_ = 0;
  std::unique_ptr<OpenSet> open_;
  std::map<std::string, Tensor> constants_;
  std::exception_ptr failure_;  // of next()
};

}  // namespace

std::unique_ptr<DataSource> make_array_source(std::vector<ValueInfo> inputs,
                                              std::vector<ArraySet> sets,
                                              std::vector<std::string> unused,
                                              const DataOptions& options) {
  return std::make_unique<ArraySource>(std::move(inputs), std::move(sets), std::move(unused),
                                       options);
}

}  // namespace bitsweep::data
