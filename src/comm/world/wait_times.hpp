#pragma once
// The time that a rank's main thread spends in waits and in the sums of exchanges, for the records
// of iterations.

namespace dbench::comm {

/// Sums since the World was made, or since its last `renumber` or `use_row_transport`. Only the
/// main thread writes and reads them. `algorithms::Timers` takes only the part that falls into an
/// exchange phase.
struct WaitTimes {
    /// Seconds of all waits of the main thread for other ranks, and of moving data meanwhile.
    double wait = 0;
    double mix = 0;  ///< Seconds of weighted sums and means in the finish calls of Exchange.
    /// The rank whose data arrived last in the latest wait of which a rank is known; the lowest
    /// number of several. -1: there was no such wait.
    int awaited_rank = -1;
    long attributed_waits = 0;  ///< Number of waits of which the rank is known.
};

}  // namespace dbench::comm
