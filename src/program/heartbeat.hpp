#pragma once
// The heartbeat: a small JSON file next to the result file, which rank 0 rewrites while the run
// makes progress. Users and scripts that cannot see the terminal read it.

#include <string>

#include "profile/recorder.hpp"

namespace dbench::program {

/// Owns the heartbeat file of one run; the file exists as long as the object.
class Heartbeat {
public:
    /// Writes `output`.heartbeat with the state "starting"; `start` holds the first iteration.
    Heartbeat(const std::string& output, const std::string& host, profile::Progress start);
    /// Removes the file; the result file says how the run ended.
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;

    /// Rewrites the file with the state "training", at most every ten seconds. The first
    /// error in writing the file is a warning; errors do not stop the run.
    void beat(const profile::Progress& progress);

private:
    void write(const char* state, const profile::Progress& progress);

    std::string path_, host_;
    double start_, next_ = 0;
    bool failed_ = false;  ///< The file could not be written, and a warning said so.
};

}  // namespace dbench::program
