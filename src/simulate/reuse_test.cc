#include "simulate/reuse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bitsweep/simulation.h"
#include "simulate/engine.h"
#include "simulate/testing/nets.h"

namespace bitsweep::simulate {
namespace {

using testing::calibrate;
using testing::nets;
using testing::samples;

TEST(Reuse, GivesTheOutputsOfPlainRuns) {
  // Fusions differ between the paths: float rounding, relative to the largest output.
  constexpr float kPathNoise = 1e-5F;
  for (const auto& [name, model] : nets()) {
    Simulation sim(model);
    const std::vector<Feed> feeds = samples(model, 2);
    calibrate(sim, feeds);
    std::vector<State> states;
    std::vector<std::string> enabled;
    for (const std::string& tensor : sim.tensor_names()) {
      if (!sim.quantizer(tensor)->enabled()) continue;
      enabled.push_back(tensor);
      states.push_back(sim.engine().network().sites_of({sim.quantizer(tensor).get()}));
    }
    for (const std::string& tensor : enabled) sim.quantizer(tensor)->set_enabled(false);
    for (const std::string& tensor : enabled) {
      sim.quantizer(tensor)->set_enabled(true);
      const std::vector<Tensor> plain = sim.run(feeds[1]);
      std::vector<Tensor> reused;
      {
        Reuse reuse(sim.engine(), states, 0);
        reused = reuse.run(sim.engine().network().enabled_state(), feeds[1]);
      }
      sim.quantizer(tensor)->set_enabled(false);
      for (std::size_t i = 0; i < plain.size(); ++i) {
        if (plain[i].type() != DataType::kFloat) continue;
        // A value that sits on a rounding tie may move by one step of this quantizer on a few
        // elements.
        std::int64_t moved = 0;
        float largest = 0.0F;
        for (const float v : plain[i].floats()) largest = std::max(largest, std::abs(v));
        for (std::size_t j = 0; j < plain[i].floats().size(); ++j) {
          moved +=
              std::abs(plain[i].floats()[j] - reused[i].floats()[j]) > kPathNoise * largest ? 1 : 0;
        }
        EXPECT_LE(moved, plain[i].size() / 20) << name << " " << tensor << " output " << i;
      }
    }
  }
}

}  // namespace
}  // namespace bitsweep::simulate
