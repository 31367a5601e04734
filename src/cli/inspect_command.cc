#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "bitsweep/simulation.h"
#include "commands.h"
#include "help.h"
#include "options.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

struct InspectArguments {
  ModelArguments model;
  bool json = false;
};

std::string shape_of(const ValueInfo& value) {
  if (!value.has_shape) return "of any shape";
  std::string text = "[";
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    const Dimension& dimension = value.shape[i];
    text += (i > 0 ? "," : "") + (dimension.size >= 0      ? std::to_string(dimension.size)
                                  : dimension.name.empty() ? "?"
                                                           : dimension.name);
  }
  return text + "]";
}

std::string declared(const std::vector<ValueInfo>& values) {
  std::string text;
  for (const ValueInfo& value : values) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : "; ", value.name,
                        data_type_name(value.type), shape_of(value));
  }
  return text.empty() ? "none" : text;
}

// Tensors of each status, the usual ones first.
std::vector<std::pair<std::string, std::int64_t>> count_statuses(
    const std::vector<TensorReport>& rows) {
  std::vector<std::pair<std::string, std::int64_t>> counts = {
      {"quantized", 0}, {"tied", 0}, {"off", 0}, {"float", 0}};
  for (const TensorReport& row : rows) {
    auto found = std::find_if(counts.begin(), counts.end(),
                              [&](const auto& count) { return count.first == row.status; });
    if (found == counts.end()) found = counts.insert(counts.end(), {row.status, 0});
    ++found->second;
  }
  return counts;
}

std::int64_t total_macs(const Simulation& simulation) {
  std::int64_t macs = 0;
  for (const OperatorInfo& op : simulation.operators()) macs += op.macs;
  return macs;
}

nlohmann::ordered_json values_json(const std::vector<ValueInfo>& values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ValueInfo& value : values) {
    list.push_back(
        {{"name", value.name}, {"type", data_type_name(value.type)}, {"shape", shape_of(value)}});
  }
  return list;
}

void print_json(const Simulation& simulation, const std::vector<TensorReport>& rows) {
  const Model& model = simulation.model();
  nlohmann::ordered_json out;
  out["opset"] = model.opset();
  out["ir_version"] = model.ir_version();
  out["num_nodes"] = model.num_nodes();
  out["rules"] = simulation.options().rules;
  out["inputs"] = values_json(model.inputs());
  out["outputs"] = values_json(model.outputs());
  for (const auto& [status, count] : count_statuses(rows)) out["counts"][status] = count;
  for (const TensorReport& row : rows) {
    out["tensors"].push_back({{"tensor", row.tensor},
                              {"status", row.status},
                              {"role", row.role},
                              {"format", row.format},
                              {"tied_to", row.tied_to},
                              {"reason", row.reason}});
  }
  for (const OperatorInfo& op : simulation.operators()) {
    nlohmann::ordered_json entry = {
        {"name", op.name}, {"type", op.type}, {"inputs", op.inputs}, {"outputs", op.outputs}};
    if (op.macs > 0) entry["macs"] = op.macs;
    out["operators"].push_back(std::move(entry));
  }
  fmt::print("{}\n", out.dump(2));
}

void print_text(const ModelArguments& arguments, const Simulation& simulation,
                const std::vector<TensorReport>& rows) {
  const Model& model = simulation.model();
  fmt::print("model    {} (opset {}, {})\n", arguments.model, model.opset(),
             plural(static_cast<std::int64_t>(model.num_nodes()), "node"));
  fmt::print("inputs   {}\n", declared(model.inputs()));
  fmt::print("outputs  {}\n", declared(model.outputs()));
  fmt::print("rules    {}, {}\n", arguments.rules, arguments.bits);
  std::string counts;
  for (const auto& [status, count] : count_statuses(rows))
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, status);
  fmt::print("tensors  {}\n", counts);
  if (const std::int64_t macs = total_macs(simulation); macs > 0) {
    fmt::print("macs     {} per sample\n", count_text(macs));
  }
  fmt::print("\n");
  Table table({{"tensor"}, {"role"}, {"status"}, {"format"}, {"why"}});
  for (const TensorReport& row : rows) {
    const std::string status = row.tied_to.empty() ? row.status : row.status + " to " + row.tied_to;
    table.add({row.tensor, row.role.empty() ? "-" : row.role, status,
               row.format.empty() ? "-" : row.format, row.reason});
  }
  fmt::print("{}", table.text());
}

int inspect(const InspectArguments& arguments) {
  Simulation simulation(Model::load(arguments.model.model), arguments.model.simulation_options());
  arguments.model.apply_to(simulation);
  const std::vector<TensorReport> rows = simulation.describe();
  if (arguments.json) {
    print_json(simulation, rows);
  } else {
    print_text(arguments.model, simulation, rows);
  }
  return 0;
}

}  // namespace

void add_inspect_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "inspect", "list every tensor of a model: quantized, tied, off or left in float, and why");
  const auto arguments = std::make_shared<InspectArguments>();
  arguments->model.add_to(command);
  begin_options(command, "Output");
  add_json_flag(command, &arguments->json);
  command->callback([action, arguments] { *action = [arguments] { return inspect(*arguments); }; });
}

}  // namespace bitsweep::cli
