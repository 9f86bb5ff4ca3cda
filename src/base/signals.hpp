#pragma once
// Signals that ask a run to end. The handler only records them; the run reacts at the next step
// boundary.

#include <string>

namespace dbench::base {

/// Records SIGINT, SIGTERM, SIGUSR1 and SIGHUP from now on instead of ending the process; SIGHUP
/// remains ignored if it was, as under nohup. Also ignores SIGPIPE and SIGXFSZ, so that writing to
/// a closed pipe or past a file size limit returns an error.
void catch_signals();

/// Ends the process with `status` at once if one of these signals arrives, until catch_signals() is
/// called. Writes the line "dbench: stopped by SIGTERM " + `rest` to standard
/// error first; longer texts are cut after 500 characters. No destructor and no exit handler runs.
void end_on_signals(int status, const std::string& rest);

/// Returns the name of the last signal received ("SIGTERM"), or "".
std::string received_signal();

/// Returns when the first signal was received, on the clock of base::now(); infinity if none was.
double first_signal_time();

}  // namespace dbench::base
