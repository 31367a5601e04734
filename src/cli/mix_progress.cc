#include "mix_progress.h"

namespace bitsweep::cli {

void MixReporter::update(const MixProgress& progress) {
  constexpr const char* kMixes = "measure mixes";
  if (progress.stage == "check") return;  // of the curve: these mixes are counted already
  const bool counts_mixes = progress.stage == kMixes;
  if (progress.stage != stage_) {
    stage_ = progress.stage;
    begin_ = std::chrono::steady_clock::now();
    reporter_.begin(stage_, counts_mixes ? "mixes" : "samples", "");
  }
  SweepProgress shown;
  shown.elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (counts_mixes) {
    // Each begins with its first sample; how many there will be is not known.
    if (progress.done == 1) ++num_mixes_;
    shown.done = num_mixes_;
    shown.total = -1;
  } else {
    shown.done = progress.done;
    shown.total = progress.total;
    if (progress.done > 0 && progress.total > 0) {
      shown.remaining_s = shown.elapsed_s / static_cast<double>(progress.done) *
                          static_cast<double>(progress.total - progress.done);
    }
  }
  reporter_.update(shown);
}

}  // namespace bitsweep::cli
