#include "bitsweep/score_journal.h"

#include <map>
#include <utility>

#include "base/sha256.h"
#include "bitsweep/error.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"
#include "sweep/journal/content_key.h"
#include "sweep/journal/run_directory.h"

namespace bitsweep {
namespace {

// How the session runs its states decides the last bits.
std::string path_of(const Simulation& simulation, bool reuse) {
  std::string path = reuse ? "session, reuse" : "session, whole";
  if (!simulation.options().portable_runs) path += ", layouts of this CPU";
  return path;
}

// Takes the place of a sample's key in the journal: the function has samples of its own.
journal::Key key_of_function(std::string_view identity) {
  Sha256 hash;
  hash.add("a function of the user's own");
  hash.add(identity);
  return hash.digest();
}

}  // namespace

struct ScoreJournal::Parts {
  Parts(const Simulation& of, const std::filesystem::path& folder, std::string_view identity,
        bool reuse)
      : simulation(of),
        states(of, path_of(of, reuse)),
        function(key_of_function(identity)),
        directory(folder, 0),
        known(directory.answers(function)) {}

  journal::Key state_key(const std::vector<std::string>& enabled) const {
    std::vector<const Quantizer*> quantizers;
    for (const std::string& tensor : enabled)
      quantizers.push_back(simulation.quantizer(tensor).get());
    return states.of(simulation.engine().network().sites_of(quantizers));
  }

  const Simulation& simulation;
  journal::StateKeys states;
  journal::Key function;
  journal::RunDirectory directory;
  std::map<journal::Key, journal::StoredAnswer> known;
};

ScoreJournal::ScoreJournal(const Simulation& simulation, const std::filesystem::path& folder,
                           std::string_view identity, bool reuse)
    : parts_(std::make_unique<Parts>(simulation, folder, identity, reuse)) {}

ScoreJournal::~ScoreJournal() = default;

void ScoreJournal::close() { parts_.reset(); }

ScoreJournal::Parts& ScoreJournal::parts() const {
  if (parts_ == nullptr) {
    throw Error(ErrorCode::kNotReady, "run directory", "the journal is closed", "open it again");
  }
  return *parts_;
}

std::optional<double> ScoreJournal::find(const std::vector<std::string>& enabled) const {
  const auto state = parts().known.find(parts().state_key(enabled));
  if (state == parts().known.end()) return std::nullopt;
  const auto score = state->second.sums.find(parts().function);
  if (score == state->second.sums.end() || score->second.size() != 1) return std::nullopt;
  return score->second.front();
}

void ScoreJournal::put(const std::vector<std::string>& enabled, double score) {
  journal::NewAnswer answer;
  answer.sums.emplace_back(parts().function, std::vector<double>{score});
  parts().directory.put(parts().function, parts().state_key(enabled), answer);
}

std::vector<std::string> ScoreJournal::notes() const { return parts().directory.notes(); }

}  // namespace bitsweep
