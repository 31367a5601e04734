#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "bitsweep/quantizer.h"

namespace bitsweep::simulate {

/// Lets samples be calibrated side by side with the statistics of one after the other: a quantizer
/// observes sample i + 1 only when it is done with sample i. Runs follow each other through the
/// network like the stages of a pipeline.
class ObserverOrder {
 public:
  /// `sites`: how often each quantizer observes in one run (tied ones several times).
  explicit ObserverOrder(const std::map<const Quantizer*, int>& sites);

  /// While it exists, the quantizer belongs to this sample. Waits for earlier samples.
  /// @throws Error(kCancelled) when a run failed, so that nobody waits for it.
  class Turn {
   public:
    Turn(ObserverOrder& order, const Quantizer& quantizer, std::int64_t sample);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    ObserverOrder& order_;
    const Quantizer& quantizer_;
  };

  /// The sample's run is over; nodes that it did not reach (the other branch of an If) are not
  /// waited for.
  void finish(std::int64_t sample);
  /// A run failed: those that wait give up.
  void fail();

 private:
  struct Progress {
    int sites = 1;
    std::int64_t sample = 0;  // whose turn it is
    int seen = 0;             // observations of that sample
  };
  void advance(Progress& progress);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const Quantizer*, Progress> progress_;
  std::int64_t next_unfinished_ = 0;
  std::set<std::int64_t> finished_early_;  // before an earlier sample
  bool failed_ = false;
};

}  // namespace bitsweep::simulate
