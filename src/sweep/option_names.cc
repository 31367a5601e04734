// Options of a sweep by name.
#include <initializer_list>
#include <string>
#include <vector>

#include "bitsweep/names.h"
#include "bitsweep/sweep.h"

namespace bitsweep {
namespace {

/// That of the values which has this name.
template <typename Value>
Value parse(std::string_view name, const std::string& kind, std::initializer_list<Value> values,
            std::string_view (*name_of)(Value)) {
  std::vector<std::string> known;
  for (const Value value : values) {
    if (name_of(value) == name) return value;
    known.emplace_back(name_of(value));
  }
  throw unknown_name("sweep", kind, name, known);
}

}  // namespace

SweepMode parse_sweep_mode(std::string_view name) {
  return parse(name, "mode",
               {SweepMode::kEnableOne, SweepMode::kDisableOne, SweepMode::kCumulative},
               sweep_mode_name);
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
  return parse(name, "use of threads", {ThreadUse::kStates, ThreadUse::kRuns, ThreadUse::kMeasured},
               thread_use_name);
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
