#pragma once
// How far a run is: a bar on a terminal, sparse lines in a log.

#include <string>

#include "profile/recorder.hpp"

namespace dbench::bench {

class ProgressLine {
public:
    explicit ProgressLine(bool quiet);
    void show(const profile::Progress& progress);
    void end();  ///< leaves the terminal on a fresh line

private:
    bool quiet_, terminal_;
    bool open_ = false;
    double next_line_ = 0;  ///< elapsed seconds at which a log gets its next line
};

/// "1:02:03", "4:05", "12 s".
std::string duration_text(double seconds);

}  // namespace dbench::bench
