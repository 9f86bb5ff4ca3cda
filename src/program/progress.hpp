#pragma once
// Shows the progress of a run on standard error: a bar on a terminal, a line now and then in a log.

#include <string>

#include "profile/recorder.hpp"

namespace dbench::program {

/// Prints the progress of one run; prints nothing if `quiet`.
class ProgressLine {
public:
    explicit ProgressLine(bool quiet);
    void show(const profile::Progress& progress);
    void end();  ///< ends the bar, so that the next output starts on a new line

private:
    bool quiet_, terminal_;
    bool open_ = false;
    double next_line_ = 0;  ///< elapsed seconds at which the next log line is due
};

/// Formats a duration as "1:02:03", "4:05" or "12 s".
std::string duration_text(double seconds);

}  // namespace dbench::program
