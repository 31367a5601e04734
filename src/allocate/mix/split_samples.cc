#include "bitsweep/error.h"
#include "bitsweep/mix.h"

namespace bitsweep {
namespace {

class Part : public SampleSource {
 public:
  Part(SampleSource& source, int period, bool held_out)
      : source_(source), period_(period), held_out_(held_out) {}

  bool next(Feed* feed) override {
    while (source_.next(feed)) {
      const bool is_held_out = ++position_ % period_ == 0;
      if (is_held_out == held_out_) return true;
    }
    return false;
  }
  void rewind() override {
    source_.rewind();
    position_ = 0;
  }
  Tensor labels() const override { return source_.labels(); }
  std::int64_t size() const override {
    if (source_.size() < 0) return -1;
    const std::int64_t held_out = source_.size() / period_;
    return held_out_ ? held_out : source_.size() - held_out;
  }

 private:
  SampleSource& source_;
  std::int64_t period_;
  bool held_out_;
  std::int64_t position_ = 0;
};

}  // namespace

std::unique_ptr<SampleSource> split_samples(SampleSource& source, int period, bool held_out) {
  if (period < 2) {
    throw Error(ErrorCode::kInvalidArgument, "mix",
                "every " + std::to_string(period) + "th sample cannot be held out",
                "use a period of 2 or more");
  }
  return std::make_unique<Part>(source, period, held_out);
}

}  // namespace bitsweep
