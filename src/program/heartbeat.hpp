#pragma once
// A sign of life beside the result file, for whoever cannot see the terminal: a small JSON file
// that rank 0 renews while the run moves on.

#include <string>

#include "profile/recorder.hpp"

namespace dbench::bench {

class Heartbeat {
public:
    /// Writes the first, state "starting", to `output`.heartbeat; `start` is where the run begins.
    Heartbeat(const std::string& output, const std::string& host, profile::Progress start);
    /// Removes the file: the result file says how the run ended.
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;

    /// State "training"; renewed at most every ten seconds. A file that cannot be written costs
    /// the run nothing.
    void beat(const profile::Progress& progress);

private:
    void write(const char* state, const profile::Progress& progress);

    std::string path_, host_;
    double start_, next_ = 0;
};

}  // namespace dbench::bench
