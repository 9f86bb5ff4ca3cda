#pragma once
// The choice of the routes of one exchange: how the rows of this rank travel, how each neighbour's
// rows reach this rank, and how each group is averaged.
//
// An exchange may use several routes, because some neighbours are on this host and others are not.
// Exchange collects the facts and makes the choice once, before it makes the MixingOperation. Each
// route is one type in one file of this folder (mixing_route.hpp).

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/plans/mixing_plan.hpp"

namespace dbench::comm {

/// The form in which this rank's rows travel (travelling_rows.hpp).
enum class RowForm : uint8_t {
    unchanged,  ///< The rows themselves.
    staged,     ///< A copy in host memory, because the transport cannot read GPU memory.
    encoded,    ///< The codec's 16-bit words.
};

/// The route of a neighbour's rows to this rank.
enum class RowRoute : uint8_t {
    message,   ///< As a message (neighbours_by_message.cpp).
    in_place,  ///< Read in shared memory of this host (neighbours_in_place.cpp).
};

/// The ranks of each host, in increasing order; the hosts in the order of their first ranks.
using RanksByHost = std::vector<std::vector<int>>;

/// The way in which a group is averaged.
enum class GroupRoute : uint8_t {
    local,       ///< All members are on this rank (local_groups.cpp).
    read_whole,  ///< Every rank reads all rows of a small group in place (groups_read_whole.cpp).
    in_chunks,   ///< Every rank computes one chunk from rows in place (groups_in_chunks.cpp).
    messages,    ///< Reduce, scatter, combine and gather, step by step (groups_by_message.cpp).
    by_host,     ///< In place inside each host, and by message between hosts (group_by_host.cpp).
    queue,       ///< All these steps at once, on the transport's queue (groups_on_queue.cpp).
    library,     ///< The transport's library adds the rows of all replicas (group_by_library.cpp).
};

/// The facts that decide the choice, in addition to the plan.
struct RouteFacts {
    int64_t replicas;           ///< All replicas of the run.
    bool library_sums = false;  ///< The spec asks for the library's own sums.
    bool coded = false;         ///< Rows travel in a 16-bit codec.
    bool all_reduce = false;    ///< Each row of x becomes the mean; else x must remain unchanged.
    bool on_device = false;     ///< Only a device reaches the rows.
    bool empty = false;         ///< The exchange has no columns.
    /// The caller leaves the rows unchanged until it reclaims them.
    bool until_reclaimed = false;
    /// Other ranks of this host can read the rows, or their encoded words, in shared memory.
    bool peer_readable = false;
    /// False if all entries of the host's board are in use: the rows then travel as messages.
    bool has_number = true;
    /// True for a rank that shares memory with this rank. Called only if `peer_readable`.
    std::function<bool(int rank)> shares_memory = nullptr;
    /// The ranks of all hosts; null unless every rank shares memory with another rank.
    const RanksByHost* hosts = nullptr;
    bool transport_has_queue = false;
    bool transport_reads_devices = false;
};

/// The routes of one exchange on one rank.
struct Routes {
    RowForm form = RowForm::unchanged;
    /// This rank offers its rows in shared memory and counts readers, even if it has none.
    bool in_place = false;
    std::vector<RowRoute> send, receive;  ///< Per entry of MixingPlan::send and ::receive.
    std::vector<GroupRoute> groups;       ///< Per entry of MixingPlan::groups.
    /// The ranks of this host whose rows this rank reads in place, and those that read its rows;
    /// both sorted.
    std::vector<int> sources, readers;
    /// The ranks of all hosts; set if a group is averaged by host.
    const RanksByHost* hosts = nullptr;

    /// True if some group is averaged in this way.
    bool has(GroupRoute route) const;
    bool by_library() const { return has(GroupRoute::library); }
};

/// Chooses the routes. Ranks that share memory pass the same facts, and so choose the same route
/// for the rows and groups that they have in common. If `hosts` is set, it and all other facts but
/// `shares_memory` are equal on all ranks of the run, because the mean by host needs all of them.
Routes choose_routes(const MixingPlan& plan, const RouteFacts& facts);

}  // namespace dbench::comm
