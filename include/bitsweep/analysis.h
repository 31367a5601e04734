#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Files about the layers of a simulation: JSON for programs, pages for people. Folders are made
/// when missing. In names of files and entries, what is no letter, digit or _ in the name of a
/// layer becomes one _; layers that would share a name get numbers. The pages of a folder share one
/// script and one style sheet, `report.js` and `report.css` in it, and need no network: the folder
/// can be moved as a whole. Each function may throw Error(kIo).

/// `<name>.json` and `<name>.html`: one value per layer, in the order given. NaN and infinite
/// values are strings in the JSON, as in the results of a sweep.
void write_layer_values(const std::filesystem::path& folder, const std::string& name,
                        const std::string& title, const std::string& label,
                        const std::vector<std::pair<std::string, double>>& values);

/// Ranges of all encodings, in `min_max_ranges`: `weights.json`, `activations.json`, a page of
/// each, and a page for each weight with several encodings.
void write_quantizer_ranges(const Simulation& simulation, const std::filesystem::path& folder);

/// A page for each quantizer that keeps a histogram, in `activations_pdf` and `weights_pdf`: its
/// channels or blocks, with the ends of the encodings; min_max keeps none.
/// @throws Error(kNotReady) when no quantizer keeps one.
void write_quantizer_histograms(const Simulation& simulation, const std::filesystem::path& folder);

}  // namespace BITSWEEP_EXPORT bitsweep
