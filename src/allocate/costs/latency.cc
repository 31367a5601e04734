#include "allocate/costs/latency.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "allocate/costs/operands.h"
#include "bitsweep/error.h"
#include "graph/placement.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep::allocate {
namespace {

constexpr const char* kHeader = "operator,shape,weights,activations,ms";
constexpr const char* kAny = "*";
constexpr const char* kNone = "-";

[[noreturn]] void reject(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidData, "latency table", what, fix);
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = line.find(',', begin);
    fields.push_back(trimmed(line.substr(begin, end == std::string::npos ? end : end - begin)));
  }
  return fields;
}

std::string shape_text(const std::optional<Shape>& shape) {
  if (!shape) return "?";
  std::string text;
  for (const std::int64_t size : *shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

/// What an operator's operands are made of.
struct Work {
  const graph::Operator* op = nullptr;
  std::string shape;
  CostOperand activation;
  CostOperand weight;
  bool has_weight = false;  ///< or a second operand
};

std::vector<Work> work_of(const simulate::Network& network,
                          const std::vector<QuantizerGroup>& groups) {
  const Operands operands(network.graph(), groups);
  std::vector<Work> list;
  for (const graph::Operator& op : network.placement().operators) {
    if (op.inputs.empty() || op.outputs.empty()) continue;
    Work work{.op = &op,
              .shape = shape_text(network.graph().tensor(op.outputs[0]).shape),
              .activation = operands.of(op.inputs[0]),
              .weight = {},
              .has_weight = false};
    graph::TensorId second = op.inputs.size() > 1 ? op.inputs[1] : graph::kAbsent;
    for (const auto& [tensor, kind] : op.parameters) {
      if (kind == "weight") second = tensor;
    }
    if (second != graph::kAbsent && is_quantizable_type(network.graph().tensor(second).type)) {
      work.has_weight = true;
      work.weight = operands.of(second);
    }
    list.push_back(work);
  }
  return list;
}

[[noreturn]] void reject_missing_row(const std::filesystem::path& file, const Work& work,
                                     const std::string& weights, const std::string& activations) {
  reject("no row fits " + work.op->type + " \"" + work.op->name + "\": shape " + work.shape +
             ", weights " + weights + ", activations " + activations,
         "add it to \"" + file.string() + "\", or a row with * for the shape");
}

}  // namespace

LatencyTable::LatencyTable(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    throw Error(ErrorCode::kNotFound, "latency table", "\"" + file.string() + "\" cannot be read",
                std::string("give a CSV file with the header ") + kHeader);
  }
  std::string line;
  bool has_header = false;
  for (int number = 1; std::getline(stream, line); ++number) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    if (has_header) {
      add(line, "line " + std::to_string(number) + " of \"" + file.string() + "\"");
      continue;
    }
    std::string header;
    for (const std::string& field : fields_of(line)) header += (header.empty() ? "" : ",") + field;
    if (header != kHeader)
      reject("\"" + file.string() + "\" begins with \"" + line + "\"",
             std::string("give it the header ") + kHeader);
    has_header = true;
  }
  if (rows_.empty()) reject("\"" + file.string() + "\" has no rows", "add one for each operator");
}

void LatencyTable::add(const std::string& line, const std::string& place) {
  const std::vector<std::string> fields = fields_of(line);
  if (fields.size() != 5)
    reject(place + " has " + std::to_string(fields.size()) + " fields",
           std::string("write ") + kHeader);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    if (fields[i] != kAny && fields[i] != kNone) Format::parse(fields[i]);
  }
  char* end = nullptr;
  const double ms = std::strtod(fields[4].c_str(), &end);
  if (fields[4].empty() || *end != '\0' || !std::isfinite(ms) || ms < 0.0)
    reject(place + " has the time \"" + fields[4] + "\"", "write milliseconds as a number >= 0");
  std::vector<Row>& rows = rows_[fields[0]];
  for (const Row& row : rows) {
    if (row.shape == fields[1] && row.weights == fields[2] && row.activations == fields[3])
      reject(place + " says again what an earlier line says", "keep one of them");
  }
  rows.push_back({fields[1], fields[2], fields[3], ms});
}

std::optional<double> LatencyTable::find(const std::string& type, const std::string& shape,
                                         const std::string& weights,
                                         const std::string& activations) const {
  const auto list = rows_.find(type);
  if (list == rows_.end()) return std::nullopt;
  std::optional<double> found;
  int most_exact = -1;
  for (const Row& row : list->second) {
    int exact = 0;
    bool fits = true;
    for (const auto& [wanted, given] :
         std::array<std::pair<const std::string&, const std::string&>, 3>{
             {{row.shape, shape}, {row.weights, weights}, {row.activations, activations}}}) {
      exact = 2 * exact + (wanted == given ? 1 : 0);
      fits = fits && (wanted == given || wanted == kAny);
    }
    if (!fits || exact <= most_exact) continue;
    most_exact = exact;
    found = row.ms;
  }
  return found;
}

CostTable latency_cost(const Simulation& simulation, const std::filesystem::path& file,
                       const std::vector<QuantizerGroup>& groups,
                       const std::vector<std::vector<Candidate>>& choices,
                       std::vector<std::string>* notes) {
  const LatencyTable latencies(file);
  CostTable table = empty_table("latency", choices);
  std::set<std::string> unknown;
  const auto type = [&](const CostOperand& operand, std::size_t choice) {
    if (operand.group < 0) return std::string("float32");
    const auto g = static_cast<std::size_t>(operand.group);
    const Candidate& c = choices[g][choice];
    if (!operand.is_parameter) return c.activation.name();
    return (c.parameter ? *c.parameter
                        : simulation.quantizer(groups[g].parameters.front())->format())
        .name();
  };
  for (const Work& work : work_of(simulation.engine().network(), groups)) {
    if (!latencies.has_operator(work.op->type)) {
      unknown.insert(work.op->type);
      continue;
    }
    add_to_table(table, choices, work.activation, work.weight, [&](std::size_t a, std::size_t w) {
      const std::string activations = type(work.activation, a);
      const std::string weights = work.has_weight ? type(work.weight, w) : kNone;
      const std::optional<double> ms =
          latencies.find(work.op->type, work.shape, weights, activations);
      if (ms) return *ms;
      reject_missing_row(file, work, weights, activations);
    });
  }
  if (!unknown.empty()) {
    std::string names;
    for (const std::string& name : unknown) {
      if (!names.empty()) names += ", ";
      names += name;
    }
    notes->push_back("the latency table has no rows for " + names + "; they count nothing");
  }
  return table;
}

}  // namespace bitsweep::allocate
