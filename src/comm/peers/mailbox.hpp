#pragma once
// Rows that are published without waiting for any rank, for SWIFT (Bornstein et al., "SWIFT: Rapid
// Decentralized Federated Learning via Wait-Free Model Communication", 2023): a rank sends its row
// to the ranks that use it, and uses the last row that it has received from each other rank.
//
// At most one row travels over a link at a time, until its receiver has acknowledged it. Rows that
// are published meanwhile wait, and a newer row replaces the waiting one: a slow link delivers
// fewer rows, never older ones. So a link costs the sender at most two rows of memory, and the
// receiver three (one arrives, one is the last, one may still be read). After `finish_span`
// every row that was published last has arrived.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "comm/peers/service.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

/// Publishes and receives rows. The main thread calls it; the engine moves the rows.
class Mailbox : public Service {
public:
    static constexpr size_t kRowsIn = 3, kRowsOut = 2;  ///< Rows of scratch per link.

    /// A received row and its sender's stamp. No row before the first has arrived.
    struct StampedRow {
        std::shared_ptr<const char> row;
        int64_t stamp = 0;
    };

    /// Rows of `bytes` bytes are sent to the ranks `to` and received from the ranks `from`.
    /// Collective.
    Mailbox(World& world, int64_t bytes, const std::vector<int>& to, const std::vector<int>& from);

    /// Sends a copy of `row` to all users: at once over free links, and later over others. Does not
    /// wait.
    void publish(const void* row, int64_t stamp);
    /// Returns the last row received from from[k].
    StampedRow last(size_t k) const;
    /// Waits until a row with this stamp or a later one has arrived from each rank of `from`.
    void wait_for(int64_t stamp);
    /// Returns how many rows were sent with each of the stamps first .. first + count - 1, and
    /// forgets all counts.
    std::vector<int64_t> take_sent(int64_t first, int64_t count);

private:
    /// A link to a rank that uses this rank's rows.
    struct Outgoing {
        int rank;
        StampedRow next = {};  ///< Waits until the link is free.
        /// The row that is being sent.
        StampedRow mail = {};
        std::unique_ptr<Transfer> transfer = nullptr;
        bool taken = true;  ///< The receiver has acknowledged the previous row.
    };
    /// A link from a rank whose rows this rank uses.
    struct Incoming {
        int rank;
        /// The last row that has arrived.
        StampedRow last = {};
        std::shared_ptr<char> row = nullptr;  ///< The row that is arriving.
        int64_t stamp = 0;
        std::unique_ptr<Transfer> transfer = nullptr;
    };

    void handle_derived_note(int from, Kind kind, int64_t value) override;
    void advance_requests() override;
    bool has_own_requests() const override;
    bool has_peer_requests() const override;
    std::vector<int> awaited_by_requests() const override;
    /// Returns the ranks from which no row with this stamp or a later one has arrived.
    std::vector<int> ranks_without(int64_t stamp) const;

    const int64_t bytes_;
    ScratchPool pool_{arena::host_memories()};
    std::vector<Outgoing> out_;
    std::vector<Incoming> in_;
    std::map<int64_t, int64_t> sent_;  ///< Number of rows sent, by stamp.
    std::optional<int64_t> awaited_;   ///< The stamp that wait_for waits for.
};

}  // namespace dbench::comm
