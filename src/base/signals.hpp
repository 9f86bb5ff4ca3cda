#pragma once
// Signals that ask a run to end: noted here, acted on at the next step boundary.

#include <string>

namespace dbench::base {

/// Notes SIGINT, SIGTERM and SIGUSR1 from now on instead of dying of them; writing to a closed pipe
/// or past a file size limit becomes an error return.
void note_signals();

/// Name of the signal received ("SIGTERM"), or empty.
std::string noted_signal();

/// When the first was received, on the clock of `base::now`; infinite while none was.
double noted_signal_time();

}  // namespace dbench::base
