#pragma once

namespace bitsweep::cli {

/// Exit code of a run that the user stopped: 128 + SIGINT, as shells report it.
inline constexpr int kInterruptedExitCode = 130;

/// From now on the first Ctrl-C only asks to stop, so that results can be saved; the second one
/// ends the process.
void catch_interrupts();

/// Ctrl-C was pressed.
bool interrupted();

}  // namespace bitsweep::cli
