#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/mix.h"
#include "bitsweep/sweep.h"

namespace BITSWEEP_EXPORT bitsweep {

/// What a reader of a page should know first, and where to go from there.
struct PageIntro {
  std::vector<std::string> sentences;
  /// Files beside the page, and what they show.
  std::vector<std::pair<std::string, std::string>> links;
  std::string next_command;
};

/// What a sensitivity page shows: one point per entry, x in the order given.
struct SensitivityPage {
  std::string title;
  std::string metric;
  bool higher_is_worse = false;
  std::vector<std::pair<std::string, double>> scores;
  std::vector<std::string> highlight_patterns;  ///< substrings offered as toggles
  std::string details_label;         ///< column title of `details`; empty: no such column
  std::vector<std::string> details;  ///< one text per entry, or empty
  std::vector<std::pair<double, double>> intervals;  ///< 95% interval of each score, or empty
  /// For each score, or empty: the samples leave open which of this and the next rank is more
  /// sensitive.
  std::vector<bool> tied_with_next;
  /// For each score, or empty: it is that of another entry, too, whose quantizers it has; left out
  /// of the short list of the most sensitive.
  std::vector<bool> repeats;
  /// Shown for its first output as a matrix of the most sensitive entries and a list of pairs.
  std::optional<Interactions> interactions;
  std::vector<std::pair<std::string, std::string>>
      facts;  ///< model, samples, time ... shown above the plot
  PageIntro intro;
};

/// What a reader wants beside the name of a group of a sweep.
struct GroupDetail {
  /// Role and format of its quantizer, type of its operator, or how many quantizers it has.
  std::string text;
  /// Its quantizers are those of another row, which says the same.
  bool repeats = false;
};

/// Of each score of a sweep.
std::vector<GroupDetail> describe_groups(const Simulation& simulation, const SweepResult& result);

/// The page of a sweep: its groups in the order in which the network computes them, with intervals,
/// ties and interactions, and in words the worst of them and where they lie.
SensitivityPage sensitivity_page(const Simulation& simulation, const SweepResult& result);

/// Default toggles: projection weights of transformers.
std::vector<std::string> default_highlight_patterns();

/// Writes one HTML file that needs no network.
///
/// Entries are ranked by score, most sensitive first; ties keep the order given. A NaN gets no
/// rank; it and infinite scores are listed but not drawn.
/// @throws Error(kInvalidArgument) without scores or when `details`, `intervals`, `tied_with_next`
/// or `repeats` has another length; Error(kIo).
void write_sensitivity_page(const SensitivityPage& page, const std::filesystem::path& path);

/// What one quantizer covers: the smallest and the largest bound over its channels.
struct RangeEntry {
  std::string name;
  double min = 0.0;
  double max = 0.0;
};

/// What a page of quantizer ranges shows. The four numbers can be changed in the page.
struct RangesPage {
  std::string title;
  std::string kind = "activation";  ///< what an entry is, singular: "activation", "weight"
  std::vector<RangeEntry> entries;
  double display_min = -1e5;  ///< values beyond the display limits are drawn at them
  double display_max = 1e5;
  double threshold_min = -5e4;  ///< entries beyond the thresholds get a marker and a row
  double threshold_max = 5e4;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Writes one HTML file that needs no network.
/// @throws Error(kInvalidArgument) without entries or when a lower bound is not below its upper
/// one; Error(kIo).
void write_ranges_page(const RangesPage& page, const std::filesystem::path& path);

/// What a page of one value per entry shows, such as the score of each layer; x in the order given.
struct LinesPage {
  std::string title;
  std::string entry_label = "Layer";
  std::string value_label = "Score";
  std::vector<std::pair<std::string, double>> values;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Writes one HTML file that needs no network. NaN and infinite values are listed but not drawn.
/// @throws Error(kInvalidArgument) without values; Error(kIo).
void write_lines_page(const LinesPage& page, const std::filesystem::path& path);

/// Distribution of a tensor's values over buckets of equal width, and the ends of its encoding.
struct Histogram {
  std::string name;
  double begin = 0.0;                 ///< left edge of the first bucket
  double width = 0.0;                 ///< of one bucket, in units of the tensor, > 0
  std::vector<double> probabilities;  ///< share of the values in each bucket
  double encoding_min = 0.0;
  double encoding_max = 0.0;
};

/// What a page of histograms shows, one at a time: for example the channels of a weight.
struct HistogramsPage {
  std::string title;
  std::vector<Histogram> histograms;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Writes one HTML file that needs no network.
/// @throws Error(kInvalidArgument) without histograms, for one without buckets or with a width that
/// is not positive; Error(kIo).
void write_histograms_page(const HistogramsPage& page, const std::filesystem::path& path);

/// What a page of quality against cost shows.
struct FrontierPage {
  struct Point {
    double cost = 0.0;
    double quality = 0.0;             ///< measured
    std::optional<double> predicted;  ///< in the unit of `quality`
    std::vector<int> types;           ///< of each group, an index of `types`; empty: not known
  };
  std::string title = "Quality against cost";
  std::string cost_label;
  std::string quality_label = "SQNR (dB)";
  std::vector<std::string> types;   ///< most bits first
  std::vector<std::string> groups;  ///< in the order of the network
  std::vector<Point> points;        ///< cheapest first
  int chosen = -1;                  ///< one of `points`; -1: none
  std::optional<double> wanted;     ///< least quality that was asked for
  std::vector<std::pair<std::string, std::string>> facts;
  PageIntro intro;
};

/// The frontier of a mix and what was chosen, over one of mix_costs(), also in words; groups are in
/// the order in which the network computes them. @throws Error(kInvalidArgument): unknown cost.
FrontierPage frontier_page(const Simulation& simulation, const MixResult& result,
                           const std::string& cost, const std::vector<MixTarget>& targets);

/// By how much the test samples miss the quality that was asked for, and what to do; empty when
/// they do not.
std::string missed_on_test(const MixResult& result, const std::vector<MixTarget>& targets);

/// Writes one HTML file that needs no network: the curve, and which group has which types in each
/// of its points. Points whose cost or quality is not finite are listed but not drawn.
/// @throws Error(kInvalidArgument) without points, and when a point has another number of types
/// than there are groups; Error(kIo).
void write_frontier_page(const FrontierPage& page, const std::filesystem::path& path);

/// Scores as JSON, 2-space indentation: metric, unit, better, num_samples, complete, facts, ranking
/// (a list of {"rank", "name", "score"}) and per_sample (name -> scores). Where there is one: mode,
/// stability, float_score, more_metrics (further rankings) and interactions (strongest pairs).
///
/// Byte-identical for equal results: times and costs are in sweep_run_info_to_json, so `facts`
/// should hold none either. Numbers are the shortest that read back exactly. JSON has no NaN and no
/// infinity: these are the strings "NaN", "Infinity" and "-Infinity", which float() of Python and
/// Number() of JavaScript read.
std::string sweep_to_json(const SweepResult& result,
                          const std::vector<std::pair<std::string, std::string>>& facts);

/// What differs from run to run: elapsed_s, num_runs, forward_equivalents, num_evaluations,
/// num_kept and notes.
std::string sweep_run_info_to_json(const SweepResult& result);

/// Writes text aside, then renames, so that a reader never sees half a file and a failure leaves
/// the old one. Links are followed; a device or pipe is written directly.
/// @throws Error(kIo) when the folder is missing or cannot be written, the path is a folder, or the
/// disk is full.
void write_text_file(const std::filesystem::path& path, const std::string& text);

}  // namespace BITSWEEP_EXPORT bitsweep
