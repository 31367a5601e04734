#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/passes.h"
#include "commands.h"
#include "options.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

struct PrepareArguments {
  std::string model;
  std::string output;
  bool split_weights = false;
  bool fold_batch_norms = false;
  bool equalize = false;
  bool json = false;
};

/// What each pass did, in the order in which they ran.
struct Record {
  std::vector<DuplicatedInitializer> copies;
  std::vector<FoldedBatchNorm> folded;
  std::vector<KeptBatchNorm> kept;
  std::vector<EqualizedPair> equalized;
};

void print_json(const Record& record) {
  nlohmann::ordered_json out = {{"copies", nlohmann::ordered_json::array()},
                                {"folded", nlohmann::ordered_json::array()},
                                {"kept", nlohmann::ordered_json::array()},
                                {"equalized", nlohmann::ordered_json::array()}};
  for (const auto& c : record.copies)
    out["copies"].push_back({{"initializer", c.initializer}, {"copy", c.copy}, {"node", c.node}});
  for (const auto& f : record.folded)
    out["folded"].push_back({{"batch_norm", f.batch_norm}, {"layer", f.layer}});
  for (const auto& k : record.kept)
    out["kept"].push_back({{"batch_norm", k.batch_norm}, {"reason", k.reason}});
  for (const auto& e : record.equalized) {
    out["equalized"].push_back(
        {{"first", e.first}, {"second", e.second}, {"scale", e.scale}, {"absorbed", e.absorbed}});
  }
  fmt::print("{}\n", out.dump(2));
}

void print_text(const Record& record, const std::string& output) {
  Table table({{"pass"}, {"node"}, {"what"}});
  for (const auto& c : record.copies)
    table.add({"split", c.node, fmt::format("reads {} instead of {}", c.copy, c.initializer)});
  for (const auto& f : record.folded)
    table.add({"fold", f.batch_norm, fmt::format("became part of {}", f.layer)});
  for (const auto& k : record.kept)
    table.add({"fold", k.batch_norm, fmt::format("stays: {}", k.reason)});
  for (const auto& e : record.equalized)
    table.add({"equalize", e.first, fmt::format("shares its ranges with {}", e.second)});
  fmt::print("{}", table.text());
  fmt::print("\nwritten  {}\n", output);
}

int prepare(const PrepareArguments& arguments) {
  if (!arguments.split_weights && !arguments.fold_batch_norms && !arguments.equalize) {
    throw Error(ErrorCode::kInvalidArgument, "prepare", "no pass is chosen",
                "add --split-weights, --fold-batch-norms or --equalize");
  }
  Model model = Model::load(arguments.model);
  Record record;
  if (arguments.split_weights) {
    DuplicateInitializersResult result = duplicate_shared_initializers(model);
    record.copies = std::move(result.copies);
    model = std::move(result.model);
  }
  if (arguments.fold_batch_norms) {
    FoldBatchNormsResult result = fold_batch_norms(model);
    record.folded = std::move(result.folded);
    record.kept = std::move(result.kept);
    model = std::move(result.model);
  }
  if (arguments.equalize) {
    EqualizeResult result = equalize_cross_layers(model);
    record.folded.insert(record.folded.end(), result.folded.begin(), result.folded.end());
    for (const std::vector<EqualizedPair>& set : result.sets)
      record.equalized.insert(record.equalized.end(), set.begin(), set.end());
    model = std::move(result.model);
  }
  model.save(arguments.output);
  if (arguments.json) {
    print_json(record);
  } else {
    print_text(record, arguments.output);
  }
  return 0;
}

}  // namespace

void add_prepare_command(CLI::App* app, Action* action) {
  CLI::App* command =
      app->add_subcommand("prepare", "rewrite a float model so that it quantizes better");
  const auto arguments = std::make_shared<PrepareArguments>();
  command->add_option("model", arguments->model, "the ONNX model; it stays as it is")
      ->required()
      ->type_name("MODEL");
  command->add_option("-o,--out", arguments->output, "the file to write")
      ->required()
      ->type_name("FILE");
  command->add_flag("--split-weights", arguments->split_weights,
                    "give each reader of a shared weight its own copy");
  command->add_flag("--fold-batch-norms", arguments->fold_batch_norms,
                    "fold batch norms into the layers beside them");
  command->add_flag("--equalize", arguments->equalize,
                    "fold batch norms, then balance the channels of neighbouring convolutions");
  add_json_flag(command, &arguments->json);
  command->callback([action, arguments] { *action = [arguments] { return prepare(*arguments); }; });
}

}  // namespace bitsweep::cli
