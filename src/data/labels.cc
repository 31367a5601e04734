#include <algorithm>
#include <utility>

#include "bitsweep/data.h"
#include "bitsweep/error.h"

namespace bitsweep {
namespace {

class LabelledSource final : public DataSource {
 public:
  LabelledSource(std::unique_ptr<DataSource> samples, Tensor labels)
      : samples_(std::move(samples)), labels_(std::move(labels)) {
    if (labels_.shape().empty()) {
      throw Error(ErrorCode::kInvalidData, "data", "the labels are one number",
                  "give one label per sample");
    }
    per_sample_ = samples_->size() == rows();
  }

  bool next(Feed* feed) override {
    if (!samples_->next(feed)) return false;
    const std::int64_t count = per_sample_ || feed->empty() || feed->begin()->second.shape().empty()
                                   ? 1
                                   : feed->begin()->second.shape()[0];
    if (row_ + count > rows()) {
      throw Error(ErrorCode::kInvalidData, "data",
                  "there are " + std::to_string(rows()) + " labels, and the samples need more",
                  "give one label for each row of the samples");
    }
    Shape shape = labels_.shape();
    shape[0] = count;
    const std::size_t row_bytes = labels_.size_bytes() / static_cast<std::size_t>(rows());
    current_ = Tensor::borrow(
        labels_.type(), std::move(shape),
        static_cast<const char*>(labels_.data()) + static_cast<std::size_t>(row_) * row_bytes,
        std::make_shared<Tensor>(labels_));
    row_ += count;
    return true;
  }

  void rewind() override {
    samples_->rewind();
    row_ = 0;
  }
  std::int64_t size() const override { return samples_->size(); }
  Tensor labels() const override { return current_; }
  std::vector<std::string> unused() const override { return samples_->unused(); }

 private:
  std::int64_t rows() const { return labels_.shape()[0]; }

  std::unique_ptr<DataSource> samples_;
  Tensor labels_;
  Tensor current_;
  bool per_sample_ = false;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<DataSource> with_labels(std::unique_ptr<DataSource> samples, Tensor labels) {
  return std::make_unique<LabelledSource>(std::move(samples), std::move(labels));
}

}  // namespace bitsweep
