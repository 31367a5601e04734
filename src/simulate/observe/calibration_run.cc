#include "simulate/observe/calibration_run.h"

#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "bitsweep/error.h"
#include "graph/file/mapped_file.h"
#include "simulate/network/feed_check.h"
#include "simulate/network/weight_scale_adjustment.h"

namespace bitsweep::simulate {

CalibrationRun::CalibrationRun(Network& network, Shapes& shapes, Observation& observation)
    : network_(network), shapes_(shapes), observation_(observation), divisors_(network) {
  std::set<Quantizer*> seen;
  for (const int s : network.enabled_state()) {
    network.clear_note(s);  // of an earlier calibration
    const std::shared_ptr<Quantizer>& q = network.quantizer(s);
    if (!seen.insert(q.get()).second) continue;
    before_.emplace_back(q, q->snapshot());
    q->reset_statistics();
  }
  // Constants need no run: a parameter is ready at once, a constant operand adds its values to the
  // statistics (some with every run).
  for (const int s : network.enabled_state()) {
    const graph::Site& site = network.site(s);
    Quantizer& q = *network.quantizer(s);
    if (!network.is_static(s) || !q.format().needs_encoding() || q.frozen() ||
        observation.observed_in_every_run(s))
      continue;
    const Tensor value = network.graph().static_value(site.tensor);
    q.observe(value);
    graph::give_back_pages(value);
  }
  for (const int s : network.enabled_state()) {
    const graph::Site& site = network.site(s);
    Quantizer& q = *network.quantizer(s);
    const bool parameter = site.role == graph::TensorRole::kParameter && network.is_static(s);
    if (!parameter || !q.format().needs_encoding() || q.frozen()) continue;
    // As in the reference: activations are observed behind blocks that LPBQ has not rounded yet.
    if (q.lpbq()) {
      lpbq_.emplace_back(&q, *q.lpbq());
      q.set_lpbq(std::nullopt);
    }
    q.compute_encoding();
  }
}

std::vector<Tensor> CalibrationRun::observe(const Feed& feed) {
  shapes_.keep_sample(feed);
  ++num_samples_;
  return observation_.observe(feed, &divisors_);
}

void CalibrationRun::observe_all(SampleSource& samples, int num_threads,
                                 const std::function<bool(std::int64_t)>& on_sample) {
  ObserverOrder order(observation_.observed_sites());
  std::mutex mutex;  // guards what follows, and the source
  std::int64_t num_read = 0;
  std::int64_t num_done = 0;
  bool stopped = false;
  std::exception_ptr failure;
  const auto take = [&](Feed* feed) -> std::optional<std::int64_t> {
    const std::lock_guard lock(mutex);
    if (stopped || failure != nullptr || !samples.next(feed)) return std::nullopt;
    check_feed(network_.graph().model(), *feed);
    shapes_.keep_sample(*feed);
    return num_read++;
  };
  const auto work = [&] {
    try {
      Feed feed;
      while (const std::optional<std::int64_t> sample = take(&feed)) {
        observation_.observe(feed, &divisors_, &order, *sample);
        order.finish(*sample);
        const std::lock_guard lock(mutex);
        ++num_done;
        if (on_sample && on_sample(num_done)) stopped = true;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
      order.fail();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 1; i < num_threads; ++i) workers.emplace_back(work);
    work();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  if (stopped) throw Error(ErrorCode::kCancelled, "calibrate", "calibration was stopped", "");
  num_samples_ += num_done;
}

void CalibrationRun::finish() {
  for (const auto& [quantizer, lpbq] : lpbq_) quantizer->set_lpbq(lpbq);
  for (const int s : network_.enabled_state()) {
    Quantizer& q = *network_.quantizer(s);
    if (q.format().needs_encoding() && !q.frozen() && q.has_statistics()) q.compute_encoding();
  }
  // Infinities with nothing but zeros beside them have statistics and yet no encoding.
  for (const int s : network_.enabled_state()) {
    const Quantizer& q = *network_.quantizer(s);
    if (q.initialized() || !q.has_statistics()) continue;
    for (const int tied : network_.sites_of({&q})) {
      leave_in_float(tied,
                     "holds nothing but zeros and infinities (a mask), which no grid can hold");
    }
  }
  for (const int s : network_.enabled_state()) {
    const Quantizer& q = *network_.quantizer(s);
    const graph::Site& site = network_.site(s);
    if (q.initialized() || !change_of(network_, {s})) continue;
    if (num_samples_ > 0 && !q.has_statistics() && q.num_non_finite() == 0) {
      leave_in_float(s, "was empty in every calibration sample");
      continue;
    }
    const std::string name = network_.graph().tensor(site.tensor).name;
    if (num_samples_ == 0) {
      throw Error(ErrorCode::kNotReady, "calibrate",
                  "no sample was run, so \"" + name + "\" has no range",
                  "give at least one sample");
    }
    throw Error(ErrorCode::kNotReady, "calibrate",
                "tensor \"" + name + "\" got no finite value in " + std::to_string(num_samples_) +
                    " samples" +
                    (q.num_non_finite() > 0 ? " (" + std::to_string(q.num_non_finite()) +
                                                  " values were NaN or infinite)"
                                            : ""),
                "check the input preprocessing, or disable its quantizer");
  }
  note_zeros();
  adjust_weight_scales(network_);
  divisors_.note(network_);
  observation_.end();
}

// Such a tensor costs nothing to quantize, and yet its grid fits no other value: samples that do
// not reach it, or a dead channel.
void CalibrationRun::note_zeros() {
  for (const int s : network_.enabled_state()) {
    if (network_.quantizer(s)->observed_only_zeros())
      network_.set_note(s, network_.reason(s) + "; only zeros were observed");
  }
}

void CalibrationRun::leave_in_float(int site, const std::string& why) {
  network_.quantizer(site)->set_enabled(false);
  network_.set_note(site, why + ": left in float");
}

void CalibrationRun::abort() {
  for (const auto& [quantizer, snapshot] : before_) quantizer->restore(*snapshot);
  observation_.end();
}

std::vector<std::pair<std::string, std::int64_t>> CalibrationRun::non_finite_counts() const {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const auto& [quantizer, snapshot] : before_) {
    if (quantizer->num_non_finite() > 0)
      counts.emplace_back(quantizer->name(), quantizer->num_non_finite());
  }
  return counts;
}

}  // namespace bitsweep::simulate
