#include "simulate/runtime/observer_order.h"

#include "bitsweep/error.h"

namespace bitsweep::simulate {

ObserverOrder::ObserverOrder(const std::map<const Quantizer*, int>& sites) {
  for (const auto& [quantizer, count] : sites) progress_[quantizer].sites = count;
}

ObserverOrder::Turn::Turn(ObserverOrder& order, const Quantizer& quantizer, std::int64_t sample)
    : order_(order), quantizer_(quantizer) {
  std::unique_lock lock(order.mutex_);
  const Progress& progress = order.progress_.at(&quantizer);
  order.changed_.wait(lock, [&] { return order.failed_ || progress.sample == sample; });
  if (order.failed_) {
    throw Error(ErrorCode::kCancelled, "calibrate", "another sample failed", "");
  }
}

ObserverOrder::Turn::~Turn() {
  const std::lock_guard lock(order_.mutex_);
  Progress& progress = order_.progress_.at(&quantizer_);
  if (++progress.seen == progress.sites) order_.advance(progress);
}

void ObserverOrder::advance(Progress& progress) {
  ++progress.sample;
  progress.seen = 0;
  changed_.notify_all();
}

void ObserverOrder::finish(std::int64_t sample) {
  const std::lock_guard lock(mutex_);
  finished_early_.insert(sample);
  while (finished_early_.erase(next_unfinished_) > 0) {
    for (auto& [quantizer, progress] : progress_) {
      if (progress.sample == next_unfinished_) advance(progress);
    }
    ++next_unfinished_;
  }
}

void ObserverOrder::fail() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  changed_.notify_all();
}

}  // namespace bitsweep::simulate
