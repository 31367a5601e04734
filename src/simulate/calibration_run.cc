#include "simulate/calibration_run.h"

#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "bitsweep/error.h"
#include "graph/mapped_file.h"
#include "simulate/engine.h"
#include "simulate/feed_check.h"
#include "simulate/weight_scale_adjustment.h"

namespace bitsweep::simulate {

CalibrationRun::CalibrationRun(Engine& engine) : engine_(engine), divisors_(engine) {
  const auto& sites = engine.placement().sites;
  std::set<Quantizer*> seen;
  for (const int s : engine.enabled_state()) {
    engine.clear_note(s);  // of an earlier calibration
    const std::shared_ptr<Quantizer>& q = engine.quantizer(s);
    if (!seen.insert(q.get()).second) continue;
    before_.emplace_back(q, q->snapshot());
    q->reset_statistics();
  }
  // Constants need no run: a parameter is ready at once, a constant operand adds its values to the
  // statistics (some with every run).
  for (const int s : engine.enabled_state()) {
    const graph::Site& site = sites[static_cast<std::size_t>(s)];
    Quantizer& q = *engine.quantizer(s);
    if (!engine.graph().tensor(site.tensor).is_static || !q.format().needs_encoding() ||
        q.frozen() || engine.observed_in_every_run(s))
      continue;
    const Tensor value = engine.graph().static_value(site.tensor);
    q.observe(value);
    graph::give_back_pages(value);
  }
  for (const int s : engine.enabled_state()) {
    const graph::Site& site = sites[static_cast<std::size_t>(s)];
    Quantizer& q = *engine.quantizer(s);
    const bool parameter =
        site.role == graph::TensorRole::kParameter && engine.graph().tensor(site.tensor).is_static;
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
  engine_.keep_for_shapes(feed);
  ++num_samples_;
  return engine_.observe(feed, &divisors_);
}

void CalibrationRun::observe_all(SampleSource& samples, int num_threads,
                                 const std::function<bool(std::int64_t)>& on_sample) {
  ObserverOrder order(engine_.observed_sites());
  std::mutex mutex;  // guards what follows, and the source
  std::int64_t num_read = 0;
  std::int64_t num_done = 0;
  bool stopped = false;
  std::exception_ptr failure;
  const auto take = [&](Feed* feed) -> std::optional<std::int64_t> {
    const std::lock_guard lock(mutex);
    if (stopped || failure != nullptr || !samples.next(feed)) return std::nullopt;
    check_feed(engine_.graph().model(), *feed);
    engine_.keep_for_shapes(*feed);
    return num_read++;
  };
  const auto work = [&] {
    try {
      Feed feed;
      while (const std::optional<std::int64_t> sample = take(&feed)) {
        engine_.observe(feed, &divisors_, &order, *sample);
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
  const auto& sites = engine_.placement().sites;
  for (const auto& [quantizer, lpbq] : lpbq_) quantizer->set_lpbq(lpbq);
  for (const int s : engine_.enabled_state()) {
    Quantizer& q = *engine_.quantizer(s);
    if (q.format().needs_encoding() && !q.frozen() && q.has_statistics()) q.compute_encoding();
  }
  // Infinities with nothing but zeros beside them have statistics and yet no encoding.
  for (const int s : engine_.enabled_state()) {
    const Quantizer& q = *engine_.quantizer(s);
    if (q.initialized() || !q.has_statistics()) continue;
    for (const int tied : engine_.sites_of({&q})) {
      leave_in_float(tied,
                     "holds nothing but zeros and infinities (a mask), which no grid can hold");
    }
  }
  for (const int s : engine_.enabled_state()) {
    const Quantizer& q = *engine_.quantizer(s);
    const graph::Site& site = sites[static_cast<std::size_t>(s)];
    if (q.initialized() || !engine_.change_of({s})) continue;
    if (num_samples_ > 0 && !q.has_statistics() && q.num_non_finite() == 0) {
      leave_in_float(s, "was empty in every calibration sample");
      continue;
    }
    const std::string name = engine_.graph().tensor(site.tensor).name;
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
  adjust_weight_scales(engine_);
  divisors_.note(engine_);
  engine_.end_observation();
}

// Such a tensor costs nothing to quantize, and yet its grid fits no other value: samples that do
// not reach it, or a dead channel.
void CalibrationRun::note_zeros() {
  for (const int s : engine_.enabled_state()) {
    if (engine_.quantizer(s)->observed_only_zeros())
      engine_.set_note(s, engine_.reason(s) + "; only zeros were observed");
  }
}

void CalibrationRun::leave_in_float(int site, const std::string& why) {
  engine_.quantizer(site)->set_enabled(false);
  engine_.set_note(site, why + ": left in float");
}

void CalibrationRun::abort() {
  for (const auto& [quantizer, snapshot] : before_) quantizer->restore(*snapshot);
  engine_.end_observation();
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
