#pragma once
// The time that a rank's main thread spends in exchanges, for the records of iterations.

namespace dbench::comm {

/// Sums since the World was made, or since its last `renumber` or `use_row_transport`. Only the
/// main thread writes and reads them.
struct ExchangeTimes {
    double wait = 0;        ///< Seconds of waits for other ranks, and of moving data meanwhile.
    double mix = 0;         ///< Seconds of weighted sums and means in the finish calls of Exchange.
    int awaited_rank = -1;  ///< The rank that the latest wait depended on when it ended; -1: none.
    long waits = 0;         ///< Number of waits of which the rank is known.
};

}  // namespace dbench::comm
