#pragma once
// Rows that are published without waiting for anybody, for SWIFT (Bornstein et al., "SWIFT: Rapid
// Decentralized Federated Learning via Wait-Free Model Communication", 2023): a rank sends its row
// to those who use it, and uses the last one that came of each other.
//
// Over a link at most one row is on its way, until its receiver has taken it and said so. What is
// published meanwhile waits for that, and the newest replaces what waits: a slow link delivers
// fewer rows, never older ones. So a link costs a sender at most two rows of memory and a receiver
// three (one arrives, one is the last, one may still be read). In `rest` all that was published
// last has arrived.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "comm/peers/service.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

class Mailbox : public Service {
public:
    static constexpr size_t kRowsIn = 3, kRowsOut = 2;  ///< of scratch, for each link

    /// The last row that came, and what its sender has stamped it with; no row before the first.
    struct Mail {
        std::shared_ptr<const char> row;
        int64_t stamp = 0;
    };

    /// Rows of `bytes` bytes go to the ranks `to`, others come from the ranks `from`. Collective.
    Mailbox(World& world, int64_t bytes, const std::vector<int>& to, const std::vector<int>& from);

    /// Sends a copy of `row` to all that use it: at once over links that are free, else as soon as
    /// they are. Waits for nobody.
    void publish(const void* row, int64_t stamp);
    /// The last that has come of from[k].
    Mail last(size_t k) const;
    /// Waits until a row with this stamp or a later one has come of each.
    void wait_for(int64_t stamp);
    /// Rows that have left for others with each of the stamps first .. first + count - 1; forgets
    /// them.
    std::vector<int64_t> take_sent(int64_t first, int64_t count);

private:
    struct Outgoing {
        int rank;
        Mail next = {};  ///< waits until the link is free
        Mail mail = {};
        std::unique_ptr<Transfer> transfer = nullptr;
        bool taken = true;  ///< the receiver has the one before
    };
    struct Incoming {
        int rank;
        Mail last = {};
        std::shared_ptr<char> row = nullptr;  ///< arrives
        int64_t stamp = 0;
        std::unique_ptr<Transfer> transfer = nullptr;
    };

    void heard(int from, Kind kind, int64_t value) override;
    void serve() override;
    bool asks() const override;
    bool serves() const override;
    std::vector<int> awaited() const override;
    std::vector<int> without(int64_t stamp) const;

    const int64_t bytes_;
    ScratchPool pool_;
    std::vector<Outgoing> out_;
    std::vector<Incoming> in_;
    std::map<int64_t, int64_t> sent_;  ///< by stamp
    std::optional<int64_t> awaited_;   ///< a stamp that this rank waits for
};

}  // namespace dbench::comm
