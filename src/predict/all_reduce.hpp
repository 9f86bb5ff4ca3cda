#pragma once
// How the program computes an all-reduce between hosts, and the rows that its members send.

#include <cstdint>
#include <map>
#include <vector>

namespace dbench::predict {

/// The ways of an all-reduce with members on several hosts (comm/mixing/choose_routes.hpp).
enum class SumRoute : uint8_t {
    messages,  ///< Each member sends 1 / m of its row to each other member, twice.
    ring,      ///< The library's ring in the order of the ranks (Patarasuk and Yuan 2009).
    by_host    ///< Each host adds the rows of its members in place; the hosts exchange the sums.
};

/// Facts of a run that decide how its all-reduces are computed.
struct SumFacts {
    std::vector<int> host;    ///< Host of each rank.
    bool in_place = false;    ///< Ranks of a host read each other's rows in place.
    bool library = false;     ///< The spec has "reduction": "library".
    bool coded = false;       ///< Messages have other numbers than rows.
    bool equal_ranks = true;  ///< All ranks hold equal numbers of replicas.
};

/// One all-reduce.
class AllReduce {
public:
    /// `ranks` are the members, in ascending order; at least two.
    AllReduce(const std::vector<int>& ranks, const SumFacts& facts);

    SumRoute route() const { return route_; }
    /// True if the members are on several hosts.
    bool apart() const { return members_.size() > 1; }
    /// The number of members on each of the hosts.
    const std::map<int, int>& members() const { return members_; }
    /// Returns the rows that a host sends to other hosts; it has members.
    double rows_of_host(int host) const;
    /// Returns the rows that a member on this host sends as messages, unless no host reads rows in
    /// place.
    double rows_of_rank(int host) const;
    /// Returns the number of messages that follow each other.
    double messages_in_turn() const;
    /// Returns the number of other hosts to which a host sends at the same time.
    int peers() const;

private:
    SumRoute route_;
    double ranks_;
    std::map<int, int> members_;
};

}  // namespace dbench::predict
