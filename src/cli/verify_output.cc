#include "verify_output.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "words.h"

namespace bitsweep::cli {
namespace {

std::string decibels(double value) {
  return std::isinf(value) ? "equal" : fmt::format("{:.2f} dB", value);
}

// JSON has no infinity.
nlohmann::ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0.0 ? "Infinity" : "-Infinity";
}

nlohmann::ordered_json disagreement_json(const Disagreement& d) {
  return {{"tensor", d.tensor},
          {"max_steps", number(d.max_steps)},
          {"max_difference", number(d.max_difference)},
          {"share", d.share},
          {"sample", d.sample}};
}

}  // namespace

std::string verify_text(const VerifyResult& result) {
  std::string text;
  if (!result.agreements.empty()) {
    Table table({{"output"},
                 {"compared"},
                 {"max steps", true},
                 {"max difference", true},
                 {"SQNR", true},
                 {"top-1", true}});
    for (const Agreement& row : result.agreements) {
      table.add({row.output, row.reference + " - " + row.tested,
                 fmt::format("{:.3g}", row.max_steps), fmt::format("{:.3g}", row.max_difference),
                 decibels(row.sqnr_db), fmt::format("{:.1f} %", 100.0 * row.top1_agreement)});
    }
    text +=
        table.text() +
        "plain simulation: operator by operator, as the file without optimizations (qdq) has to "
        "compute\nsimulation: the usual, faster run\n\n";
  }
  for (const LoadCheck& check : result.loads) {
    text +=
        fmt::format("optimizations {:<9}{}\n", check.level, check.loads ? "loads" : check.reason);
  }
  for (const std::string& problem : result.problems) text += fmt::format("problem  {}\n", problem);
  for (const std::string& note : result.notes) text += fmt::format("note     {}\n", note);
  if (result.first_disagreement) {
    const Disagreement& d = *result.first_disagreement;
    text += fmt::format("wrong    \"{}\" differs by {:.3g} steps ({:.3g}) in sample {}\n", d.tensor,
                        d.max_steps, d.max_difference, d.sample);
  }
  if (result.qdq_ms > 0.0) {
    text += fmt::format("latency  float {:.3g} ms, qdq {:.3g} ms ({:.2f}x)\n", result.float_ms,
                        result.qdq_ms, result.float_ms / result.qdq_ms);
  }
  text += fmt::format("verify   {}, {}\n", result.passed ? "passed" : "FAILED",
                      plural(result.num_samples, "sample"));
  return text;
}

std::string verify_json(const VerifyResult& result) {
  nlohmann::ordered_json out = {
      {"passed", result.passed},
      {"samples", result.num_samples},
      {"problems", result.problems},
      {"notes", result.notes},
      {"loads", nlohmann::ordered_json::array()},
      {"agreements", nlohmann::ordered_json::array()},
      {"first_disagreement", nullptr},
      {"latency_ms", {{"float", result.float_ms}, {"qdq", result.qdq_ms}}}};
  for (const LoadCheck& check : result.loads)
    out["loads"].push_back(
        {{"level", check.level}, {"loads", check.loads}, {"reason", check.reason}});
  for (const Agreement& row : result.agreements) {
    out["agreements"].push_back({{"output", row.output},
                                 {"reference", row.reference},
                                 {"tested", row.tested},
                                 {"max_steps", number(row.max_steps)},
                                 {"max_difference", number(row.max_difference)},
                                 {"sqnr_db", number(row.sqnr_db)},
                                 {"top1_agreement", row.top1_agreement}});
  }
  if (result.first_disagreement)
    out["first_disagreement"] = disagreement_json(*result.first_disagreement);
  return out.dump(2) + "\n";
}

}  // namespace bitsweep::cli
