#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "bitsweep/error.h"
#include "commands.h"
#include "help.h"
#include "interrupt.h"

namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

int report(const std::string& text, int code) {
  std::fflush(stdout);
  fmt::print(stderr, "error: {}\n", text);
  return code;
}

int exit_code(bitsweep::ErrorCode code) {
  if (code == bitsweep::ErrorCode::kInvalidArgument) return kUsage;
  return code == bitsweep::ErrorCode::kCancelled ? bitsweep::cli::kInterruptedExitCode : kFailure;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Sensitivity of an ONNX model's tensors to low precision.", "bitsweep");
  app.set_version_flag("--version", std::string("bitsweep ") + BITSWEEP_VERSION);
  app.require_subcommand(1);
  bitsweep::cli::use_help_layout(&app);
  bitsweep::cli::Action action;
  bitsweep::cli::add_sweep_command(&app, &action);
  bitsweep::cli::add_analyze_command(&app, &action);
  bitsweep::cli::add_mix_command(&app, &action);
  bitsweep::cli::add_inspect_command(&app, &action);
  bitsweep::cli::add_prepare_command(&app, &action);
  bitsweep::cli::add_quantize_command(&app, &action);
  bitsweep::cli::add_export_command(&app, &action);
  bitsweep::cli::add_verify_command(&app, &action);
  bitsweep::cli::add_metrics_command(&app, &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return report(bitsweep::cli::usage_text(app, error, argc, argv), kUsage);
  }
  try {
    return action();
  } catch (const bitsweep::Error& error) {
    return report(error.what(), exit_code(error.code()));
  } catch (const std::bad_alloc&) {
    return report(
        "memory: there is not enough for this model and these options; use a smaller --batch-size "
        "or --max-memory",
        kFailure);
  } catch (const std::exception& error) {
    return report(fmt::format("internal: {}; please report it with the command line that you used",
                              error.what()),
                  kFailure);
  }
}
