#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "bitsweep/error.h"
#include "commands.h"
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

// What is wrong with a command line, and where to read more.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (!app.get_subcommands().empty()) {
    return fmt::format("options: {}; see `bitsweep {} --help`", error.what(),
                       app.get_subcommands().front()->get_name());
  }
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  const std::string what =
      argc < 2 ? "no command is given" : fmt::format("no command is named \"{}\"", argv[1]);
  return fmt::format("options: {}; use one of: {}", what, known);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Sensitivity of an ONNX model's tensors to low precision.", "bitsweep");
  app.set_version_flag("--version", std::string("bitsweep ") + BITSWEEP_VERSION);
  app.require_subcommand(1);
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
    return report(usage_text(app, error, argc, argv), kUsage);
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
