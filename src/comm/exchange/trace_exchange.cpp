#include "comm/exchange/trace_exchange.hpp"

#include <map>

#include "base/trace.hpp"
#include "comm/groups/group_mean.hpp"
#include "comm/mixing/group_by_host.hpp"

namespace dbench::comm {
namespace {

using BytesByRank = std::map<int, int64_t>;

/// Adds the bytes of a group's mean: each rank owns a chunk of the columns, gets this chunk of all
/// rows, and returns the chunk of the mean. `whole`: each rank gets all rows instead.
void add_group(const GroupPlan& group, bool whole, arena::Columns columns, int64_t element,
               BytesByRank& out, BytesByRank& in) {
    const auto parts = std::ssize(group.parts);
    const auto chunk = [&](int64_t part) { return cut(columns, parts, part).count() * element; };
    const auto rows = [&](int64_t part) { return std::ssize(group.parts[part].nodes); };
    const int64_t me = group.me;
    for (int64_t part = 0; part < parts; ++part) {
        if (part == me) continue;
        const int rank = group.parts[part].rank;
        const int64_t all = columns.count() * element;
        out[rank] += whole ? std::ssize(group.rows) * all : rows(me) * chunk(part) + chunk(me);
        in[rank] +=
            whole ? std::ssize(group.parts[part].rows) * all : rows(part) * chunk(me) + chunk(part);
    }
}

/// Adds the bytes of a mean by host: owners get their chunk of all rows of the host, average it
/// with those of the other hosts, and return it.
void add_by_host(const GroupPlan& group, const RanksByHost& hosts, arena::Columns columns,
                 int64_t element, BytesByRank& out, BytesByRank& in) {
    const HostShare share = host_share(group, hosts);
    const auto chunk = [&](int64_t part) {
        return part < share.count ? share.chunk(columns, part).count() * element : 0;
    };
    const auto rows = [&](int64_t part) { return std::ssize(share.host.parts[part].rows); };
    const int64_t me = share.host.me;
    for (int64_t part = 0; part < std::ssize(share.host.parts); ++part) {
        if (part == me) continue;
        const int rank = share.host.parts[part].rank;
        out[rank] += rows(me) * chunk(part) + chunk(me);
        in[rank] += rows(part) * chunk(me) + chunk(part);
    }
    if (share.owns) add_group(share.owners, false, share.mine(columns), element, out, in);
}

/// Adds the start of the messages to the trace.
std::unique_ptr<ExchangeTrace> begin_trace(TracedNumber number, const BytesByRank& out,
                                           const BytesByRank& in, int64_t bucket) {
    const auto ranks = static_cast<uint64_t>(number.ranks);
    const auto message = [&](int from, int to) {
        return (number.exchange * ranks + static_cast<uint64_t>(from)) * ranks +
               static_cast<uint64_t>(to);
    };
    auto trace = std::make_unique<ExchangeTrace>();
    trace->started = base::now();
    trace->iteration = base::traced_iteration();
    trace->bucket = bucket;
    trace->bytes = 0;
    trace->polled = false;
    base::TraceEvent event;
    event.kind = base::TraceEvent::Kind::sent;
    event.begin = trace->started;
    event.iteration = trace->iteration;
    event.bucket = bucket;
    for (const auto& [rank, bytes] : out) {
        trace->bytes += bytes;
        event.peer = rank;
        event.bytes = bytes;
        event.message = message(number.rank, rank);
        base::add_to_trace(event);
    }
    for (const auto& [rank, bytes] : in) {
        trace->arrivals.push_back({rank, message(rank, number.rank), bytes});
    }
    return trace;
}

}  // namespace

std::unique_ptr<ExchangeTrace> trace_mixing(TracedNumber number, const MixingPlan& plan,
                                            const Routes& routes, arena::Columns columns,
                                            int64_t element) {
    if (!base::tracing()) return nullptr;
    BytesByRank out, in;
    if (columns.count() > 0) {
        const int64_t row = columns.count() * element;
        for (const RankRows& to : plan.send) out[to.rank] += std::ssize(to.rows) * row;
        for (const RankRows& from : plan.receive) in[from.rank] += std::ssize(from.rows) * row;
        for (size_t g = 0; g < plan.groups.size(); ++g) {
            if (plan.groups[g].local() || routes.groups[g] == GroupRoute::library) continue;
            if (routes.groups[g] == GroupRoute::by_host) {
                add_by_host(plan.groups[g], *routes.hosts, columns, element, out, in);
                continue;
            }
            const bool whole = routes.groups[g] == GroupRoute::read_whole;
            add_group(plan.groups[g], whole, columns, element, out, in);
        }
    }
    return begin_trace(number, out, in, base::trace_bucket_of(columns.begin));
}

std::unique_ptr<ExchangeTrace> trace_delivery(TracedNumber number, const DeliveryPlan& plan,
                                              int64_t bytes) {
    if (!base::tracing()) return nullptr;
    BytesByRank out, in;
    for (const DeliveryPlan::OutgoingMessage& each : plan.out) out[each.rank] += bytes;
    for (const int rank : plan.in) in[rank] += bytes;
    return begin_trace(number, out, in, base::current_trace_bucket());
}

}  // namespace dbench::comm
