#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "bitsweep/encodings_file.h"
#include "bitsweep/error.h"
#include "bitsweep/names.h"
#include "export/fit_entry.h"
#include "export/load_entries.h"
#include "export/read_entries.h"
#include "graph/placement/op_types.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep {
namespace {

using exporting::EncodingsDocument;
using exporting::EntryKind;
using exporting::FileEntry;
using graph::TensorId;

constexpr int kBiasBits = 32;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path)) {
    throw Error(std::filesystem::exists(path) ? ErrorCode::kIo : ErrorCode::kNotFound, "encodings",
                fmt::format("\"{}\" cannot be read", path.string()),
                "give the path of an encodings file");
  }
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// What an entry does to one quantizer.
struct Change {
  const FileEntry* entry = nullptr;
  std::shared_ptr<Quantizer> quantizer;
  std::string tensor;
  Encoding encoding;  // of formats that need one
  bool stays_off = false;
};

bool unsigned_symmetric(const FileEntry& entry, const Encoding& encoding) {
  if (!entry.symmetric || !entry.format.is_integer()) return false;
  return std::all_of(encoding.cells.begin(), encoding.cells.end(),
                     [](const auto& c) { return c.offset == 0.0; });
}

std::string granularity_name(const Quantizer& q) {
  if (q.granularity().per_tensor()) return exporting::kind_name(EntryKind::kPerTensor);
  if (!q.granularity().blockwise()) return exporting::kind_name(EntryKind::kPerChannel);
  return exporting::kind_name(q.lpbq() ? EntryKind::kLpbq : EntryKind::kPerBlock);
}

template <typename T>
void note(std::optional<std::pair<T, T>>& field, const T& simulation, const T& file) {
  if (simulation != file) field = {simulation, file};
}

bool any(const EncodingMismatch& m) {
  return m.enabled || m.format || m.granularity || m.symmetric || m.strict_symmetric ||
         m.unsigned_symmetric;
}

class Loader {
 public:
  Loader(Simulation& simulation, EncodingsDocument document, std::string source,
         const LoadEncodingsOptions& options)
      : simulation_(simulation),
        network_(simulation.engine().network()),
        options_(options),
        file_(std::move(source)),
        document_(std::move(document)) {
    const auto& sites = network_.placement().sites;
    for (int s = 0; s < static_cast<int>(sites.size()); ++s)
      site_of_.emplace(sites[static_cast<std::size_t>(s)].tensor, s);
    for (const FileEntry& entry : document_.entries) by_name_.emplace(entry.name, &entry);
    parameters_.insert(simulation.parameter_names().begin(), simulation.parameter_names().end());
  }

  std::vector<EncodingMismatch> load() {
    for (const FileEntry& entry : document_.entries) plan(entry);
    find_missing();
    std::vector<EncodingMismatch> mismatches = compare();
    if (options_.strict && !mismatches.empty()) {
      throw Error(
          ErrorCode::kInvalidData, "encodings",
          fmt::format("\"{}\" differs from the settings of {} quantizers, first that of \"{}\"",
                      file_, mismatches.size(), mismatches.front().tensor),
          "load with strict off, which also lists the differences, or set up the simulation alike");
    }
    apply();
    return mismatches;
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& what,
                         const std::string& fix) const {
    throw Error(ErrorCode::kInvalidData, "encodings",
                fmt::format("\"{}\" has an entry for \"{}\", {}", file_, name, what), fix);
  }

  TensorId tensor_of(const FileEntry& entry) const {
    const graph::Graph& graph = network_.graph();
    const TensorId id = graph.find(entry.name);
    if (id != graph::kAbsent) return id;
    std::vector<std::string> names;
    for (const graph::TensorInfo& t : graph.tensors()) names.push_back(t.name);
    const std::string near = closest_name(entry.name, names);
    fail(entry.name, "which the model does not have",
         near.empty() ? "load a file that was written for this model"
                      : fmt::format("did you mean \"{}\"?", near));
  }

  // The tensor whose quantizer decides the grid of `t`: `t` itself, or one upstream behind data
  // movement.
  TensorId source_of(TensorId t) const {
    const graph::Graph& graph = network_.graph();
    for (;;) {
      const int producer = graph.tensor(t).producer;
      if (producer < 0 || !graph::passes_values_through(graph, graph.node(producer))) return t;
      t = graph.node(producer).inputs.front();
    }
  }

  static bool same_grid(const FileEntry& a, const FileEntry& b) {
    return a.format == b.format && a.cells == b.cells;
  }

  bool repeats_source(const FileEntry& entry, TensorId id) const {
    for (TensorId t = id; t != graph::kAbsent;) {
      const int producer = network_.graph().tensor(t).producer;
      if (producer < 0) return false;
      const graph::Node& node = network_.graph().node(producer);
      if (!graph::passes_values_through(network_.graph(), node)) return false;
      t = node.inputs.front();
      const auto it = by_name_.find(network_.graph().tensor(t).name);
      if (it != by_name_.end()) return same_grid(*it->second, entry);
    }
    return false;
  }

  void plan(const FileEntry& entry) {
    TensorId id = tensor_of(entry);
    if (!is_quantizable_type(network_.graph().tensor(id).type)) {
      fail(entry.name, "whose elements are no floats", "remove the entry");
    }
    const bool parameter = parameters_.count(entry.name) > 0;
    if (options_.freeze_parameters_only && !parameter) return;
    if (document_.version_2() && !parameter && entry.kind == EntryKind::kPerTensor) {
      if (repeats_source(entry, id)) return;  // says what the entry upstream says
      if (site_of_.count(id) == 0) id = source_of(id);
    }
    const auto site = site_of_.find(id);
    const bool bias = entry.format.is_integer() && entry.format.bitwidth >= kBiasBits;
    if (site == site_of_.end()) {
      fail(entry.name, "which has no quantizer here",
           "remove the entry, or choose rules that quantize this tensor");
    }
    Change change;
    change.entry = &entry;
    change.quantizer = network_.quantizer(site->second);
    change.tensor = network_.graph().tensor(id).name;
    change.stays_off = bias;
    if (entry.format.needs_encoding())
      change.encoding = exporting::fit_entry(entry, *change.quantizer);
    const auto [it, is_first] = planned_.emplace(change.quantizer.get(), changes_.size());
    if (!is_first) {
      const Change& before = changes_[it->second];
      const bool same = before.entry->format == entry.format && before.encoding == change.encoding;
      if (!same) {
        fail(entry.name,
             fmt::format("which shares its quantizer with \"{}\", but has another encoding",
                         before.tensor),
             "give both the same entry, or untie them with set_quantizers");
      }
      return;
    }
    changes_.push_back(std::move(change));
  }

  void find_missing() {
    if (!options_.disable_missing || options_.freeze_parameters_only) return;
    std::set<const Quantizer*> seen;
    for (const std::string& name : simulation_.tensor_names()) {
      const std::shared_ptr<Quantizer> q = simulation_.quantizer(name);
      if (!q->enabled() || planned_.count(q.get()) > 0 || !seen.insert(q.get()).second) continue;
      if (document_.version_2() && !q->format().needs_encoding()) continue;
      missing_.emplace_back(name, q);
    }
  }

  std::vector<EncodingMismatch> compare() const {
    std::vector<EncodingMismatch> result;
    for (const Change& change : changes_) {
      const Quantizer& q = *change.quantizer;
      const FileEntry& entry = *change.entry;
      EncodingMismatch m;
      m.tensor = change.tensor;
      note(m.enabled, q.enabled(), true);
      note(m.format, q.format().name(), entry.format.name());
      if (entry.format.is_integer()) {
        const EntryKind kind =
            change.encoding.granularity.blockwise() && entry.kind == EntryKind::kPerChannel
                ? EntryKind::kPerBlock
                : entry.kind;
        note(m.granularity, granularity_name(q), exporting::kind_name(kind));
        // An unsigned grid in version 2 may be a symmetric one that was written unsigned on
        // request.
        const bool knows = !document_.version_2() || entry.signed_codes || entry.parameter;
        if (knows) note(m.symmetric, q.symmetric(), entry.symmetric);
        note(m.strict_symmetric, q.symmetric() && q.strict_symmetric(),
             is_strictly_symmetric(entry));
        const bool file_unsigned = unsigned_symmetric(entry, change.encoding);
        if (file_unsigned && !q.unsigned_symmetric()) m.unsigned_symmetric = {false, true};
      }
      if (any(m)) result.push_back(std::move(m));
    }
    for (const auto& [name, q] : missing_) {
      EncodingMismatch m;
      m.tensor = name;
      m.enabled = {true, false};
      result.push_back(std::move(m));
    }
    return result;
  }

  void apply() {
    std::vector<std::pair<Quantizer*, std::shared_ptr<const Quantizer::Snapshot>>> before;
    try {
      for (const Change& change : changes_) {
        before.emplace_back(change.quantizer.get(), change.quantizer->snapshot());
        set(change);
      }
    } catch (...) {
      for (const auto& [q, snapshot] : before) q->restore(*snapshot);
      throw;
    }
    for (const auto& [name, q] : missing_) q->set_enabled(false);
  }

  void set(const Change& change) const {
    Quantizer& q = *change.quantizer;
    const FileEntry& entry = *change.entry;
    q.set_enabled(!change.stays_off);
    q.set_lpbq(std::nullopt);
    q.set_format(entry.format);
    if (entry.format.is_integer()) {
      const bool strict = is_strictly_symmetric(entry);
      q.set_symmetric(entry.symmetric);
      q.set_strict_symmetric(strict);
      if (unsigned_symmetric(entry, change.encoding)) q.set_unsigned_symmetric(true);
      const double fraction =
          change.encoding.cells.front().offset - std::floor(change.encoding.cells.front().offset);
      for (const AffineEncoding& cell : change.encoding.cells) {
        if (cell.offset - std::floor(cell.offset) != fraction) {
          fail(entry.name, "whose zero points are shifted by different parts of a step",
               "export the encodings again");
        }
      }
      q.set_zero_point_shift(fraction);
    }
    if (entry.format.needs_encoding()) {
      q.set_granularity(change.encoding.granularity);
      if (entry.kind == EntryKind::kLpbq) q.set_lpbq(Lpbq{entry.scale_bits});
      q.load_encoding(change.encoding);
    } else {
      q.set_granularity({});
    }
    if (options_.freeze || options_.freeze_parameters_only) q.freeze();
  }

  Simulation& simulation_;
  const simulate::Network& network_;
  LoadEncodingsOptions options_;
  std::string file_;
  EncodingsDocument document_;
  std::map<TensorId, int> site_of_;
  std::map<std::string, const FileEntry*, std::less<>> by_name_;
  std::set<std::string, std::less<>> parameters_;
  std::vector<Change> changes_;
  std::map<const Quantizer*, std::size_t> planned_;
  std::vector<std::pair<std::string, std::shared_ptr<Quantizer>>> missing_;
};

}  // namespace

std::vector<EncodingMismatch> load_encodings(Simulation& simulation,
                                             const std::filesystem::path& file,
                                             const LoadEncodingsOptions& options) {
  const std::string source = file.string();
  return exporting::load_entries(simulation, exporting::read_entries(read_file(file), source),
                                 source, options);
}

namespace exporting {

std::vector<EncodingMismatch> load_entries(Simulation& simulation, EncodingsDocument document,
                                           const std::string& source,
                                           const LoadEncodingsOptions& options) {
  return Loader(simulation, std::move(document), source, options).load();
}

}  // namespace exporting

}  // namespace bitsweep
