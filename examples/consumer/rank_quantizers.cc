// Prints the quantizers of a model that hurt its output most.
//
//   rank_quantizers model.onnx samples.npz

#include <bitsweep/data.h>
#include <bitsweep/error.h>
#include <bitsweep/model.h>
#include <bitsweep/simulation.h>
#include <bitsweep/sweep.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: rank_quantizers MODEL.onnx SAMPLES\n");
    return 2;
  }
  try {
    const bitsweep::Model model = bitsweep::Model::load(argv[1]);
    bitsweep::Simulation simulation(model);
    const auto samples = bitsweep::open_samples(argv[2], model);

    // Calibration: the ranges of all tensors, seen over the samples, become their encodings.
    simulation.begin_calibration();
    for (bitsweep::Feed feed; samples->next(&feed);) simulation.run(feed);
    simulation.finish_calibration();

    // The sweep: one score for each quantizer, enabled alone.
    samples->rewind();
    const bitsweep::SweepResult result =
        bitsweep::sweep(simulation, *samples, bitsweep::group_by_quantizer(simulation));
    for (const bitsweep::SweepScore& row : result.scores) {
      if (row.rank > 10) break;
      std::printf("%3ld  %8.2f %s  %s\n", static_cast<long>(row.rank), row.score,
                  result.unit.c_str(), row.name.c_str());
    }
  } catch (const bitsweep::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
