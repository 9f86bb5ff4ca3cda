#pragma once
// The part of an exchange in flight that the trace shows, if it started in a traced iteration.
// Internal to this module.

#include <cstdint>
#include <vector>

namespace dbench::comm {

/// One exchange: when it started, and what arrives. Exchange fills it in, the operation owns it,
/// and the engine calls `done`.
struct ExchangeTrace {
    /// All that arrives from one other rank.
    struct Arrival {
        int rank;
        uint64_t message;  ///< Its number in the trace.
        int64_t bytes;
    };

    double started;  ///< By base::now.
    int64_t iteration;
    int64_t bucket;  ///< -1: not known.
    int64_t bytes;   ///< All that this rank sends.
    /// The engine polls the operation, so that the trace shows it on the progress thread.
    bool polled;
    std::vector<Arrival> arrivals;

    /// Adds the end of the exchange to the trace: everything has arrived. Any thread may call it.
    void done() const;
};

}  // namespace dbench::comm
