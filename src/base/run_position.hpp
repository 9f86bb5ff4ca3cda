#pragma once
// The current iteration and phase of this process, stored so that a signal handler can read them:
// the report of a crash inside a library that cannot be unwound still names them. Recording costs
// one store.

#include <cstdint>

namespace dbench::base {

struct RunPosition {
    int64_t iteration = -1;  // -1: before the first iteration.
    const char* phase = "preparation";
};

/// Records that the process is before the first iteration of a run.
void note_preparation() noexcept;

/// Records that iteration `t` has started, and leaves the phase as it is.
void note_iteration(int64_t t) noexcept;

/// Records the phase. `phase` must live as long as the process, as a string literal does.
void note_phase(const char* phase) noexcept;

/// Returns the last recorded values of any thread. May be called in a signal handler.
RunPosition run_position() noexcept;

}  // namespace dbench::base
