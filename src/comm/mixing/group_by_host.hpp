#pragma once
// The shares of one rank in a mean that is computed by host: which columns it owns, and with which
// ranks it exchanges them (group_by_host.cpp).

#include "comm/groups/group_mean.hpp"
#include "comm/mixing/choose_routes.hpp"

namespace dbench::comm {

/// Every host has the same number of owners: the ranks that compute one chunk of the columns each.
struct HostShare {
    GroupPlan host;    ///< The group's members on this host, in the order of its ranks.
    GroupPlan owners;  ///< The owners of this rank's chunk; one member per host.
    int64_t count;     ///< Owners per host.
    bool owns;         ///< This rank is an owner.
    double weight;     ///< This host's mean times `weight` is its summand of the mean of hosts.

    /// Returns the chunk of an owner of this host.
    arena::Columns chunk(arena::Columns columns, int64_t owner) const {
        return cut(columns, count, owner);
    }
    /// Returns this rank's chunk; empty if it is no owner.
    arena::Columns mine(arena::Columns columns) const {
        return owns ? chunk(columns, host.me) : arena::Columns{columns.begin, columns.begin};
    }
};

/// Returns the share of the rank to which the plan belongs, in a group of all replicas.
HostShare host_share(const GroupPlan& group, const RanksByHost& hosts);

}  // namespace dbench::comm
