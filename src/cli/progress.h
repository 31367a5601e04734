#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/sweep.h"

namespace bitsweep::cli {

/// How progress is shown on stderr. kAuto: a bar on a terminal, lines elsewhere.
enum class ProgressStyle { kAuto, kBar, kLines, kJson, kNone };

/// "auto", "bar", "lines", "json", "none". @throws Error(kInvalidArgument) naming them.
ProgressStyle parse_progress_style(std::string_view name);
std::vector<std::string> progress_style_names();

/// Shows how far a long piece of work is: share, rate, time left, most sensitive group so far.
class ProgressReporter {
 public:
  /// `out` must stay open; kAuto asks whether it is a terminal.
  ProgressReporter(ProgressStyle style, std::FILE* out);

  /// Starts a phase, such as "calibrate"; `noun` is what is counted.
  void begin(std::string phase, std::string noun, std::string unit);
  /// Shows the state, unless the last one was shown a moment ago; the last state of a phase is
  /// always shown.
  void update(const SweepProgress& progress);
  /// Leaves the line of the bar, so that other output starts at the margin.
  void end();

  /// The text of a state, without the bar.
  std::string text(const SweepProgress& progress) const;

 private:
  std::string bar(const SweepProgress& progress) const;
  std::string json(const SweepProgress& progress) const;

  ProgressStyle style_;
  std::FILE* out_;
  std::string phase_;
  std::string noun_;
  std::string unit_;
  double shown_at_s_ = -1.0;
  bool line_open_ = false;
};

}  // namespace bitsweep::cli
