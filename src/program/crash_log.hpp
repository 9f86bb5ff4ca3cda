#pragma once
// Crash logs: a rank that fails writes `OUTPUT.crash-<rank>.log` next to the result file. The log
// holds the error, the iteration and phase, and after a fatal signal the call stack. Every rank
// writes its own log, because rank 0 may be the rank that died.

#include <string>

namespace dbench::program {

/// Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. They write the crash log with
/// the call stack, and then let the signal end the process as usual.
void watch_for_crashes(const std::string& output, int rank, const std::string& host);

/// Disables the crash log, because the run has ended.
void stop_watching_for_crashes() noexcept;

/// Appends an error to the crash log. Does nothing unless watch_for_crashes was called.
void write_crash_log(const std::string& error) noexcept;

/// Removes the crash logs that earlier runs left next to `output`.
void remove_crash_logs(const std::string& output);

}  // namespace dbench::program
