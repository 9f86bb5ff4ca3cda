#pragma once
// What a rank that fails leaves beside the result file, `OUTPUT.crash-<rank>.log`: why, where and,
// after a fatal signal, the calls that led to it. Every rank writes its own, since rank 0 may be
// the one that died.

#include <string>

namespace dbench::bench {

/// From now on a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) leaves such a file with
/// the calls that led to it, and then ends the process as before.
void watch_for_crashes(const std::string& output, int rank, const std::string& host);

/// From now on nothing is left beside that output: its run is over.
void stop_watching_for_crashes() noexcept;

/// After an error: adds to that file. Never throws; does nothing where nobody watches.
void write_crash_log(const std::string& error) noexcept;

/// Removes what earlier runs left beside `output`.
void remove_crash_logs(const std::string& output);

}  // namespace dbench::bench
