#pragma once

#include <memory>

#include "bitsweep/simulation.h"

namespace bitsweep::simulate {

class Evaluator;
class ExactPlanner;
class Network;
class Observation;
class PartSessions;
class Shapes;
class WholeRuns;
class WorkCounter;

/// The parts that make a Simulation. Each uses only those named before it; its header has the same
/// name.
class Engine {
 public:
  /// @throws Error as Network does.
  Engine(Model model, SimulationOptions options);
  ~Engine();

  Network& network() const { return *network_; }         ///< the model and its quantizers
  Shapes& shapes() const { return *shapes_; }            ///< and the costs of nodes
  WorkCounter& work() const { return *work_; }           ///< of all runs but those that observe
  PartSessions& sessions() const { return *sessions_; }  ///< of parts of the network
  WholeRuns& whole_runs() const { return *whole_runs_; }
  Observation& observation() const { return *observation_; }  ///< for calibration
  Evaluator& evaluator() const { return *evaluator_; }        ///< states on samples, with reuse
  ExactPlanner& planner() const { return *planner_; }         ///< where the evaluator cuts

 private:
  std::unique_ptr<Network> network_;
  std::unique_ptr<Shapes> shapes_;
  std::unique_ptr<WorkCounter> work_;
  std::unique_ptr<PartSessions> sessions_;
  std::unique_ptr<WholeRuns> whole_runs_;
  std::unique_ptr<Observation> observation_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<ExactPlanner> planner_;
};

}  // namespace bitsweep::simulate
