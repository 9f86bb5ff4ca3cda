#pragma once
// Signals that ask a run to end: noted here, acted on at the next step boundary.

#include <string>

namespace dbench::base {

/// Notes SIGINT, SIGTERM and SIGUSR1 from now on instead of dying of them; writing to a closed pipe
/// or past a file size limit becomes an error return.
void note_signals();

/// Name of the signal received ("SIGTERM"), or empty.
std::string noted_signal();

}  // namespace dbench::base
