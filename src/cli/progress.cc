#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "bitsweep/names.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

constexpr std::array<std::pair<const char*, ProgressStyle>, 5> kStyles = {
    {{"auto", ProgressStyle::kAuto},
     {"bar", ProgressStyle::kBar},
     {"lines", ProgressStyle::kLines},
     {"json", ProgressStyle::kJson},
     {"none", ProgressStyle::kNone}}};

// Seconds between two shows: smooth on a terminal, sparse in a log file.
double interval_s(ProgressStyle style) {
  if (style == ProgressStyle::kBar) return 0.1;
  return style == ProgressStyle::kJson ? 1.0 : 5.0;
}

constexpr std::size_t kLongestName = 60;
// A rate says nothing before.
constexpr double kClearAfterS = 0.1;

std::size_t terminal_width(std::FILE* out) {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

/// Evaluations per second. The time left knows better than the time so far, which holds the
/// preparation, while some of the answers may have been there before.
double rate_per_s(const SweepProgress& progress) {
  if (progress.remaining_s > 0.0)
    return static_cast<double>(progress.total - progress.done) / progress.remaining_s;
  return static_cast<double>(progress.done) / progress.elapsed_s;
}

}  // namespace

std::vector<std::string> progress_style_names() {
  std::vector<std::string> names;
  names.reserve(kStyles.size());
  for (const auto& [name, style] : kStyles) names.emplace_back(name);
  return names;
}

ProgressStyle parse_progress_style(std::string_view name) {
  for (const auto& [known, style] : kStyles) {
    if (name == known) return style;
  }
  throw unknown_name("options", "progress style", name, progress_style_names());
}

ProgressReporter::ProgressReporter(ProgressStyle style, std::FILE* out) : style_(style), out_(out) {
  if (style_ == ProgressStyle::kAuto)
    style_ = isatty(fileno(out)) != 0 ? ProgressStyle::kBar : ProgressStyle::kLines;
}

void ProgressReporter::begin(std::string phase, std::string noun, std::string unit) {
  end();
  phase_ = std::move(phase);
  noun_ = std::move(noun);
  unit_ = std::move(unit);
  shown_at_s_ = -1.0;
}

void ProgressReporter::update(const SweepProgress& progress) {
  if (style_ == ProgressStyle::kNone) return;
  const bool last = progress.total >= 0 && progress.done >= progress.total;
  const double wait = interval_s(style_);
  // The first line of a log waits too: short work needs no lines.
  const double since = shown_at_s_ < 0.0 && style_ == ProgressStyle::kLines ? 0.0 : shown_at_s_;
  if (!last && since >= 0.0 && progress.elapsed_s - since < wait) return;
  shown_at_s_ = progress.elapsed_s;
  if (style_ == ProgressStyle::kBar) {
    fmt::print(out_, "\r\x1b[K{}", bar(progress));
    line_open_ = true;
  } else {
    fmt::print(out_, "{}\n", style_ == ProgressStyle::kJson ? json(progress) : text(progress));
  }
  std::fflush(out_);
}

void ProgressReporter::end() {
  if (!line_open_) return;
  fmt::print(out_, "\n");
  std::fflush(out_);
  line_open_ = false;
}

std::string ProgressReporter::text(const SweepProgress& progress) const {
  std::string line = fmt::format("{}: {}", phase_, progress.done);
  if (progress.total >= 0) line += fmt::format(" of {}", progress.total);
  line += " " + noun_;
  if (progress.total > 0) line += fmt::format(", {}%", 100 * progress.done / progress.total);
  if (progress.elapsed_s > kClearAfterS) {
    line += progress.done > 0 ? fmt::format(", {:.3g}/s", rate_per_s(progress))
                              : ", preparing for " + duration_text(progress.elapsed_s);
  }
  const bool last = progress.total >= 0 && progress.done >= progress.total;
  if (last) {
    line += ", took " + duration_text(progress.elapsed_s);
  } else if (progress.remaining_s >= 0.0) {
    line += ", " + duration_text(progress.remaining_s) + " left";
  }
  if (!progress.worst.empty()) {
    line += fmt::format(", worst: {} at {}", shortened(progress.worst, kLongestName),
                        score_text(progress.worst_score, unit_));
  }
  return line;
}

std::string ProgressReporter::bar(const SweepProgress& progress) const {
  constexpr std::int64_t kCells = 20;
  std::string line;
  if (progress.total > 0) {
    const std::int64_t filled =
        std::clamp<std::int64_t>(kCells * progress.done / progress.total, 0, kCells);
    line = fmt::format("[{}{}] ", std::string(static_cast<std::size_t>(filled), '#'),
                       std::string(static_cast<std::size_t>(kCells - filled), '.'));
  }
  line += text(progress);
  // A line that wraps could not be drawn over.
  return line.substr(0, terminal_width(out_) - 1);
}

std::string ProgressReporter::json(const SweepProgress& progress) const {
  nlohmann::ordered_json line;
  line["phase"] = phase_;
  line["done"] = progress.done;
  line["total"] = progress.total >= 0 ? nlohmann::ordered_json(progress.total)
                                      : nlohmann::ordered_json(nullptr);
  line["elapsed_s"] = progress.elapsed_s;
  line["rate_per_s"] = progress.elapsed_s > 0.0 ? nlohmann::ordered_json(rate_per_s(progress))
                                                : nlohmann::ordered_json(nullptr);
  line["remaining_s"] = progress.remaining_s >= 0.0 ? nlohmann::ordered_json(progress.remaining_s)
                                                    : nlohmann::ordered_json(nullptr);
  if (!progress.worst.empty()) {
    line["worst"] = progress.worst;
    line["worst_score"] = progress.worst_score;
  }
  return line.dump();
}

}  // namespace bitsweep::cli
