#pragma once
// Memory that the ranks of one host read in place. Rows lie in files without a name, which the
// others open through /proc and map: /dev/shm is not used, and nothing is left when processes end,
// however they do.
//
// An exchange whose rows are read in place has a number, the same on all ranks. Each rank has a
// board with a slot per number:
//   1. offer     the owner tells where its rows lie, complete
//   2. rows_of   readers find them, and read
//   3. means_of  where ranks make parts of means: the same of the owner's parts
//   4. has_read  the owner sees who has read all that, and may write there again
// Slots are used in turn; one is free again when its rows have been given back (`release`).

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arena/rows.hpp"

namespace dbench::comm {

class World;

/// Rows of any element, in memory that others may read: where row 0 begins, at an address of this
/// process, and how many bytes further the next one.
struct HeldRows {
    char* data = nullptr;
    int64_t stride = 0;
    char* at(int64_t row) const { return data + row * stride; }
};

class HostMemory {
public:
    /// Collective. Without another rank on this host, or where the system forbids it, nothing is
    /// shared: `obstacle` then says why.
    explicit HostMemory(World& world);
    ~HostMemory();

    /// Whether that rank's rows are read in place here, and this rank's there.
    bool with(int rank) const { return peers_[static_cast<size_t>(rank)] != nullptr; }
    bool shared() const { return shared_; }
    /// "in place", or why not; "" where this host has one rank.
    std::string status() const {
        return shared_ ? "in place" : obstacle_.empty() ? "" : "as messages (" + obstacle_ + ")";
    }
    /// Why ranks of this host do not read in place; empty where they do, or there are none.
    const std::string& obstacle() const { return obstacle_; }

    /// Zeroed memory that others may read. Throws UserError where the host has no more.
    std::shared_ptr<void> allocate(int64_t bytes);
    /// Whether something lies in such memory.
    bool holds(const void* data) const;

    /// The number of the next exchange; none where too many have not been given back. All ranks of
    /// a host call it alike.
    std::optional<uint64_t> next();
    void release(uint64_t number);

    /// Rows must be held; their memory stays as long as the handle does.
    std::shared_ptr<void> offer(uint64_t number, HeldRows rows);
    /// Rows that a rank has offered; none as long as it has not. Throws RunError where they cannot
    /// be mapped.
    std::optional<HeldRows> rows_of(int rank, uint64_t number);
    /// The same of what this rank has made of rows that others had offered.
    std::shared_ptr<void> offer_means(uint64_t number, HeldRows means);
    std::optional<HeldRows> means_of(int rank, uint64_t number);
    /// This rank has read what it needs of that exchange.
    void read(uint64_t number);
    bool has_read(int rank, uint64_t number) const;

private:
    struct Board;
    struct Peer;
    struct Segment {
        int file;
        uint64_t number;  ///< of this rank's segments
        char* data;
        int64_t bytes;
    };
    static constexpr uint64_t kSlots = 4096;

    struct Offer;
    Board& own_board() const;
    std::shared_ptr<void> tell(Offer& offer, uint64_t number, HeldRows rows);
    std::optional<HeldRows> told(int rank, uint64_t number, Offer& offer);
    std::shared_ptr<Segment> make_segment(int64_t bytes);
    std::shared_ptr<Segment> segment_of(const void* data) const;

    int rank_;
    bool shared_ = false;
    std::string obstacle_;
    std::shared_ptr<Segment> own_;                            // of the board
    std::vector<std::unique_ptr<Peer>> peers_;                // by rank; null where messages go
    mutable std::mutex mutex_;                                // of the segments
    std::map<const void*, std::weak_ptr<Segment>> segments_;  // by their first byte
    uint64_t made_ = 0, next_ = 0;
    std::array<bool, kSlots> in_use_{};
};

}  // namespace dbench::comm
