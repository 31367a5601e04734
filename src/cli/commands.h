#pragma once

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace bitsweep::cli {

/// What a command does once its options are parsed; returns the exit code.
using Action = std::function<int()>;

/// Each adds its command to `app`; when the user calls it, `*action` is set.
void add_analyze_command(CLI::App* app, Action* action);
void add_export_command(CLI::App* app, Action* action);
void add_inspect_command(CLI::App* app, Action* action);
void add_metrics_command(CLI::App* app, Action* action);
void add_mix_command(CLI::App* app, Action* action);
void add_prepare_command(CLI::App* app, Action* action);
void add_quantize_command(CLI::App* app, Action* action);
void add_sweep_command(CLI::App* app, Action* action);
void add_verify_command(CLI::App* app, Action* action);

}  // namespace bitsweep::cli
