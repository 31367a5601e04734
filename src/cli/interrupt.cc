#include "interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

namespace bitsweep::cli {
namespace {

volatile std::sig_atomic_t g_interrupts = 0;

// Only what a signal handler may do: a flag, write and _exit.
void on_interrupt(int) {
  if (g_interrupts != 0) _exit(kInterruptedExitCode);
  g_interrupts = 1;
  constexpr const char* kText =
      "\nstopping after the running evaluations; press Ctrl-C again to quit at once\n";
  // The note is a courtesy: nothing can be done when it does not get through.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, std::strlen(kText));
}

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return g_interrupts != 0; }

}  // namespace bitsweep::cli
