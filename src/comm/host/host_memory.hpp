#pragma once
// Memory that ranks of the same host share, so that they can read each other's rows in place.
//
// Rows are stored in anonymous files (memfd). Other ranks open them through /proc and map them.
// /dev/shm is not used, and the system frees the memory when the processes end, however they end.
//
// This folder: HostMemory shares memory among all ranks of a host; InPlaceExchange
// (in_place_exchange.hpp) uses it for one exchange. Each such exchange has a number that is the
// same on all ranks. Each rank has a board in shared memory with one entry per number (entries are
// reused in turn), and the ranks use it in these steps:
//   1. offer       The owner writes where its complete rows are stored.
//   2. rows_of     Readers find the rows, and read them.
//   3. means_of    If ranks compute parts of group means: readers find the owner's part.
//   4. has_read    The owner finds out who has read everything, and may write the rows again.
//   5. release     The number's entry is free for a later exchange.

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

/// Rows of any element type in shared memory: the address of row 0 in this process, and the bytes
/// from one row to the next.
struct SharedRows {
    char* data = nullptr;
    int64_t stride = 0;
    char* at(int64_t row) const { return data + row * stride; }
};

/// This rank's shared memory and its view of the other ranks' memory. The main thread owns it; the
/// progress thread may look up rows.
class HostMemory {
public:
    /// Opens the boards of the other ranks of this host. Collective. If this host has one rank, or
    /// the system forbids sharing, nothing is shared; in the second case `obstacle` returns why.
    explicit HostMemory(World& world);
    ~HostMemory();

    /// True if this rank and `rank` read each other's rows in place.
    bool shares_with(int rank) const { return peers_[static_cast<size_t>(rank)] != nullptr; }
    /// True if there is another rank with which memory is shared.
    bool shared() const { return shared_; }
    /// Returns the ranks of all hosts, each host's in increasing order, and hosts in the order of
    /// their first ranks. Empty unless every rank shares memory with another one. Equal on all
    /// ranks.
    const std::vector<std::vector<int>>& hosts() const { return hosts_; }
    /// Returns "in place", or why not; "" if this host has one rank.
    std::string status() const {
        return shared_ ? "in place" : obstacle_.empty() ? "" : "as messages (" + obstacle_ + ")";
    }
    /// Returns why ranks of this host do not read in place; empty if they do or if there is only
    /// one.
    const std::string& obstacle() const { return obstacle_; }

    /// Returns zeroed memory that other ranks can read. Throws UserError if the host has too little
    /// memory.
    std::shared_ptr<void> allocate(int64_t bytes);
    /// True if the address is in such memory.
    bool holds(const void* data) const;

    /// Returns the number of the next exchange; none if the entry of that number has not been
    /// released. All ranks of a host call it in the same order.
    std::optional<uint64_t> next();
    /// Frees the number's entry.
    void release(uint64_t number);

    /// Offers this rank's rows to readers. `holds(rows.data)` must be true. The handle keeps the
    /// memory.
    std::shared_ptr<void> offer(uint64_t number, SharedRows rows);
    /// Returns the rows that a rank has offered; none if it has not yet. Throws RunError if they
    /// cannot be mapped.
    std::optional<SharedRows> rows_of(int rank, uint64_t number);
    /// Offers the parts of means that this rank has computed from offered rows, like `offer`.
    std::shared_ptr<void> offer_means(uint64_t number, SharedRows means);
    /// Returns the parts of means that a rank has offered, like `rows_of`.
    std::optional<SharedRows> means_of(int rank, uint64_t number);
    /// Marks that this rank has read all that it needs of the exchange.
    void mark_read(uint64_t number);
    /// True if the rank has marked that it has read all that it needs.
    bool has_read(int rank, uint64_t number) const;

private:
    struct Board;
    struct BoardHandle;
    struct Peer;
    /// Maps the board of another rank of this host. Throws RunError if it cannot be read.
    static std::unique_ptr<Peer> attach_peer(const BoardHandle& handle);
    /// A shared file of this rank, and where it is mapped.
    struct SharedFile {
        int descriptor;
        uint64_t number;  ///< Counts the shared files of this rank.
        char* data;
        int64_t bytes;
    };
    static constexpr uint64_t kEntries = 4096;

    struct RowOffer;
    Board& own_board() const;
    /// Writes an offer on this rank's board.
    std::shared_ptr<void> publish_offer(RowOffer& offer, uint64_t number, SharedRows rows);
    /// Reads an offer from another rank's board.
    std::optional<SharedRows> find_offer(int rank, uint64_t number, RowOffer& offer);
    /// Reserves and maps a file. Throws UserError.
    std::shared_ptr<SharedFile> make_file(int64_t bytes);
    /// Returns the file that contains the address; null if none does.
    std::shared_ptr<SharedFile> file_of(const void* data) const;

    int rank_;
    bool shared_ = false;
    std::vector<std::vector<int>> hosts_;
    std::string obstacle_;
    std::shared_ptr<SharedFile> own_;                         // holds this rank's board
    std::vector<std::unique_ptr<Peer>> peers_;                // by rank; null if messages are used
    mutable std::mutex mutex_;                                // protects files_ and made_
    std::map<const void*, std::weak_ptr<SharedFile>> files_;  // by their first byte
    uint64_t made_ = 0, next_ = 0;
    std::array<bool, kEntries> in_use_{};
};

}  // namespace dbench::comm
