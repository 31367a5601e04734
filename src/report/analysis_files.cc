#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "bitsweep/analysis.h"
#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/page.h"

namespace bitsweep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kIndent = 4;  // as the reference's files

/// An enabled quantizer with encodings, under the name that the files give it.
struct NamedQuantizer {
  bool is_weight = false;
  std::string layer;
  std::string part;  ///< "input_0", "output_1", "weight", "bias" ...
  std::shared_ptr<Quantizer> quantizer;

  std::string name() const { return layer + "_" + part; }
  const std::vector<AffineEncoding>& cells() const { return quantizer->encoding()->cells; }
};

/// Names of layers as names of files.
class FileNames {
 public:
  /// The same name for the same layer.
  std::string of(const std::string& layer) {
    std::string plain;
    bool was_letter = true;
    for (const char c : layer) {
      // Bytes of other alphabets are letters.
      const bool is_letter =
          std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
      if (is_letter || was_letter) plain += is_letter ? c : '_';
      was_letter = is_letter;
    }
    std::string candidate = plain;
    for (int number = 2; owner_.try_emplace(candidate, layer).first->second != layer; ++number)
      candidate = plain + "_" + std::to_string(number);
    return candidate;
  }

 private:
  std::map<std::string, std::string> owner_;
};

/// Of all operators in topological order, each quantizer once per operator.
std::vector<NamedQuantizer> named_quantizers(const Simulation& simulation) {
  const std::vector<OperatorInfo> operators = simulation.operators();
  const std::vector<std::string>& tensors = simulation.tensor_names();
  const std::set<std::string> known(tensors.begin(), tensors.end());
  std::set<std::string> produced;
  for (const OperatorInfo& op : operators) produced.insert(op.outputs.begin(), op.outputs.end());
  std::vector<NamedQuantizer> result;
  FileNames names;
  for (const OperatorInfo& op : operators) {
    const std::string layer = names.of(op.name);
    const auto add = [&](bool is_weight, const std::string& part, const std::string& tensor) {
      std::shared_ptr<Quantizer> q = simulation.quantizer(tensor);
      if (q->enabled() && q->format().needs_encoding() && q->encoding())
        result.push_back({is_weight, layer, part, std::move(q)});
    };
    int number = 0;
    for (const std::string& tensor : op.inputs) {
      const bool is_parameter = std::any_of(op.parameters.begin(), op.parameters.end(),
                                            [&](const auto& p) { return p.first == tensor; });
      if (known.count(tensor) > 0 && !is_parameter && produced.count(tensor) == 0)
        add(false, "input_" + std::to_string(number++), tensor);
    }
    number = 0;
    for (const std::string& tensor : op.outputs) {
      if (known.count(tensor) > 0) add(false, "output_" + std::to_string(number++), tensor);
    }
    for (const auto& [tensor, kind] : op.parameters) {
      if (known.count(tensor) > 0) add(true, kind, tensor);
    }
  }
  return result;
}

void write_json(const fs::path& path, const Json& content) {
  write_text_file(path, content.dump(kIndent) + "\n");
}

Histogram histogram_of(const std::string& name, const std::vector<HistogramBucket>& buckets,
                       const AffineEncoding& encoding) {
  Histogram histogram{.name = name,
                      .begin = buckets.front().left,
                      .encoding_min = encoding.min,
                      .encoding_max = encoding.max};
  for (const HistogramBucket& bucket : buckets) histogram.probabilities.push_back(bucket.mass);
  // One bucket has no neighbour that tells its width: the encoding's range stands in for it.
  histogram.width = buckets.size() > 1 ? buckets[1].left - buckets[0].left
                                       : std::max(encoding.max - encoding.min, 1e-30);
  return histogram;
}

fs::path histogram_file(const NamedQuantizer& named) {
  if (named.is_weight) return fs::path("weights_pdf") / named.layer / (named.name() + ".html");
  std::string part = named.part;
  part.replace(part.find('_'), 1, "_q");
  return fs::path("activations_pdf") / (named.layer + "_" + part + ".html");
}

}  // namespace

void write_layer_values(const fs::path& folder, const std::string& name, const std::string& title,
                        const std::string& label,
                        const std::vector<std::pair<std::string, double>>& values) {
  const report::PageFolder pages(folder);
  Json content = Json::object();
  for (const auto& [layer, value] : values) content[layer] = report::json_number(value);
  write_json(folder / (name + ".json"), content);
  pages.write(report::page_of(LinesPage{.title = title, .value_label = label, .values = values}),
              name + ".html");
}

void write_quantizer_ranges(const Simulation& simulation, const fs::path& folder) {
  const report::PageFolder pages(folder);
  const fs::path subfolder = "min_max_ranges";
  report::make_folder(folder / subfolder);
  Json content[2] = {Json::object(), Json::object()};  // of activations, of weights
  RangesPage overviews[2];
  for (const NamedQuantizer& named : named_quantizers(simulation)) {
    const std::vector<AffineEncoding>& cells = named.cells();
    const auto kind = static_cast<std::size_t>(named.is_weight);
    if (cells.size() == 1) {
      content[kind][named.name()] = {cells[0].min, cells[0].max};
      overviews[kind].entries.push_back({named.name(), cells[0].min, cells[0].max});
      continue;
    }
    RangesPage page{
        .title = "Ranges of " + named.name(), .kind = "channel", .entries = {}, .facts = {}};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      page.entries.push_back({named.name() + "_" + std::to_string(i), cells[i].min, cells[i].max});
      content[kind][named.name()][page.entries.back().name] = {cells[i].min, cells[i].max};
    }
    if (!page.entries.empty())
      pages.write(report::page_of(page), subfolder / (named.name() + ".html"));
  }
  for (const std::size_t kind : {0U, 1U}) {
    RangesPage& overview = overviews[kind];
    overview.kind = kind == 0 ? "activation" : "weight";
    overview.title = "Ranges of " + overview.kind + " quantizers";
    write_json(folder / subfolder / (overview.kind + "s.json"), content[kind]);
    if (!overview.entries.empty())
      pages.write(report::page_of(overview), subfolder / (overview.kind + "s.html"));
  }
}

void write_quantizer_histograms(const Simulation& simulation, const fs::path& folder) {
  std::vector<NamedQuantizer> quantizers = named_quantizers(simulation);
  std::erase_if(quantizers,
                [](const NamedQuantizer& q) { return q.quantizer->scheme() == Scheme::kMinMax; });
  if (quantizers.empty()) {
    throw Error(ErrorCode::kNotReady, "report", "no quantizer keeps a histogram",
                "calibrate with another scheme than min_max");
  }
  const report::PageFolder pages(folder);
  for (const NamedQuantizer& named : quantizers) {
    const std::vector<std::vector<HistogramBucket>> cells = named.quantizer->histograms();
    HistogramsPage page{.title = "Values of " + named.name(), .histograms = {}, .facts = {}};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].empty()) continue;
      page.histograms.push_back(
          histogram_of(named.name() + "_" + std::to_string(i), cells[i], named.cells().at(i)));
    }
    if (!page.histograms.empty()) pages.write(report::page_of(page), histogram_file(named));
  }
}

}  // namespace bitsweep
