// Options of a sweep by name.
#include <string>
#include <vector>

#include "bitsweep/names.h"
#include "bitsweep/sweep.h"

namespace bitsweep {

SweepMode parse_sweep_mode(std::string_view name) {
  std::vector<std::string> known;
  for (const SweepMode mode :
       {SweepMode::kEnableOne, SweepMode::kDisableOne, SweepMode::kCumulative}) {
    if (sweep_mode_name(mode) == name) return mode;
    known.emplace_back(sweep_mode_name(mode));
  }
  throw unknown_name("sweep", "mode", name, known);
}

std::string_view sweep_mode_name(SweepMode mode) {
  switch (mode) {
    case SweepMode::kEnableOne:
      return "enable_one";
    case SweepMode::kDisableOne:
      return "disable_one";
    case SweepMode::kCumulative:
      break;
  }
  return "cumulative";
}

ThreadUse parse_thread_use(std::string_view name) {
  std::vector<std::string> known;
  for (const ThreadUse use : {ThreadUse::kStates, ThreadUse::kRuns, ThreadUse::kMeasured}) {
    if (thread_use_name(use) == name) return use;
    known.emplace_back(thread_use_name(use));
  }
  throw unknown_name("sweep", "use of threads", name, known);
}

std::string_view thread_use_name(ThreadUse use) {
  switch (use) {
    case ThreadUse::kStates:
      return "states";
    case ThreadUse::kRuns:
      return "runs";
    case ThreadUse::kMeasured:
      break;
  }
  return "measured";
}

}  // namespace bitsweep
