#include "allocate/mix/clipping.h"

#include <cmath>
#include <utility>

#include "simulate/engine.h"
#include "simulate/whole_runs.h"

namespace bitsweep::allocate {
namespace {

/// How the values of one tensor meet one range.
class Meeting {
 public:
  Meeting(std::string tensor, const Quantizer& quantizer)
      : tensor_(std::move(tensor)),
        quantizer_(quantizer),
        range_(quantizer.encoding()->cells.front()) {}

  const std::string& tensor() const { return tensor_; }

  void add(const Tensor& values) {
    const Tensor rounded = quantizer_.fake_quant(values);
    for (std::size_t i = 0; i < values.floats().size(); ++i) {
      const double value = values.floats()[i];
      const double error = value - static_cast<double>(rounded.floats()[i]);
      if (!std::isfinite(error)) continue;
      num_values_ += 1.0;
      // Half a step beyond the last code still rounds to it as well as any other value.
      const bool is_beyond =
          value > range_.max + range_.delta / 2.0 || value < range_.min - range_.delta / 2.0;
      (is_beyond ? clipped_ : rounded_) += error * error;
      num_beyond_ += is_beyond ? 1.0 : 0.0;
    }
  }

  bool clips_most() const { return clipped_ > rounded_; }
  double share() const { return num_values_ > 0.0 ? num_beyond_ / num_values_ : 0.0; }

 private:
  std::string tensor_;
  const Quantizer& quantizer_;
  AffineEncoding range_;
  double num_values_ = 0.0;
  double num_beyond_ = 0.0;
  double clipped_ = 0.0;  // squared errors
  double rounded_ = 0.0;
};

bool has_one_range(const Quantizer& q) {
  return q.enabled() && q.format().is_integer() && q.encoding() && q.encoding()->cells.size() == 1;
}

}  // namespace

std::optional<Clipping> worst_clipping(Simulation& simulation,
                                       const std::vector<std::string>& activations,
                                       SampleSource& samples) {
  const graph::Graph& graph = simulation.engine().network().graph();
  std::vector<Meeting> inputs;
  std::vector<Meeting> inside;
  std::vector<graph::TensorId> tensors;
  for (const std::string& name : activations) {
    const Quantizer* quantizer = simulation.quantizer(name).get();
    const graph::TensorId id = graph.find(name);
    if (id == graph::kAbsent || !has_one_range(*quantizer)) continue;
    const graph::TensorInfo& tensor = graph.tensor(id);
    if (tensor.is_input) {
      inputs.emplace_back(name, *quantizer);
    } else if (tensor.producer >= 0 && !graph.node(tensor.producer).is_constant) {
      inside.emplace_back(name, *quantizer);
      tensors.push_back(id);
    }
  }
  Feed feed;
  samples.rewind();
  while (samples.next(&feed)) {
    for (Meeting& meeting : inputs) meeting.add(feed.at(meeting.tensor()).to_float());
    if (inside.empty()) continue;
    const std::vector<Tensor> values =
        simulation.engine().whole_runs().run_tensors({}, feed, tensors);
    for (std::size_t i = 0; i < inside.size(); ++i) inside[i].add(values[i].to_float());
  }
  std::optional<Clipping> worst;
  for (const auto* list : {&inputs, &inside}) {
    for (const Meeting& meeting : *list) {
      if (meeting.clips_most() && (!worst || meeting.share() > worst->share))
        worst = Clipping{.tensor = meeting.tensor(), .share = meeting.share()};
    }
  }
  return worst;
}

}  // namespace bitsweep::allocate
