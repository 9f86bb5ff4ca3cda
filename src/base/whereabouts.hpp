#pragma once
// Where this process is in its run, kept so that a signal handler may read it: a crash inside a
// library that cannot be unwound still tells its iteration and phase. Noting costs one store.

#include <cstdint>

namespace dbench::base {

struct Whereabouts {
    int64_t iteration = -1;  // -1: before the first
    const char* phase = "preparation";
};

/// From now on before the first iteration of a run.
void note_preparation() noexcept;

/// From now on iteration `t`, in whatever phase.
void note_iteration(int64_t t) noexcept;

/// `phase` must live as long as the process, as a literal does.
void note_phase(const char* phase) noexcept;

/// What was noted last, by any thread; may be called in a signal handler.
Whereabouts whereabouts() noexcept;

}  // namespace dbench::base
