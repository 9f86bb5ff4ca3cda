#include "program/rank_placement.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "comm/world/link_speed.hpp"
#include "graphs/placement_table.hpp"

namespace dbench::program {

using base::Json;

namespace {

graphs::RankTraffic traffic_of(const PreparedRun& s) {
    const graphs::Schedule* schedule = s.session->schedule();
    if (!schedule) return graphs::all_reduce_traffic(s.placement.ranks);
    std::vector<int> rank_of;
    for (int64_t i = 0; i < s.placement.replicas; ++i) rank_of.push_back(s.placement.rank_of(i));
    return graphs::rank_traffic(*schedule, rank_of, s.session->plan().iterations);
}

}  // namespace

std::optional<RankPlacement> place_ranks(comm::World& world, const PreparedRun& s) {
    const Json& spec = s.spec.resolved.at("placement");
    const auto* entry =
        base::find_entry(graphs::placement_table(), spec.at("type").get<std::string>());
    if (entry->name == "linear" || world.size() == 1) return std::nullopt;
    const bool by_links = spec.contains("links"),
               measured = by_links && spec["links"] == "measured";
    const std::vector<std::string> hosts = world.gather(world.host());
    graphs::Links links;
    if (measured) links = comm::measure_links(world);
    Json found;
    run_on_all_ranks(world, [&] {
        if (world.rank() != 0) return;
        if (by_links && !measured) links = graphs::read_links(spec["links"]).between(hosts);
        const graphs::RankTraffic traffic = traffic_of(s);
        const double bytes = s.session->row_bytes();
        const auto slots = entry->make(
            spec, {hosts, traffic, bytes, s.spec.run.seed.graph, by_links ? &links : nullptr});
        found["slots"] = slots;
        if (!by_links) return;
        found["seconds"] = graphs::link_cost(traffic, links, bytes, slots);
        found["linear"] =
            graphs::link_cost(traffic, links, bytes, graphs::linear_placement(world.size()));
    });
    std::string text = found.dump();
    world.broadcast(text);
    found = Json::parse(text);
    RankPlacement rank_placement{found.at("slots"), {}, {}};
    if (by_links) {
        rank_placement.seconds = found.at("seconds");
        rank_placement.linear_seconds = found.at("linear");
    }
    world.renumber(rank_placement.slots);
    return rank_placement;
}

std::string placement_text(const PreparedRun& s) {
    constexpr size_t kMost = 16;
    const graphs::Slots& slots = s.rank_placement->slots;
    std::string text =
        s.spec.resolved.at("placement").at("type").get<std::string>() + ": ranks on slots";
    for (size_t rank = 0; rank < std::min(kMost, slots.size()); ++rank) {
        text += " " + std::to_string(slots[rank]);
    }
    if (slots.size() > kMost) text += " ...";
    if (!s.rank_placement->seconds) return text;
    char cost[96];
    std::snprintf(cost, sizeof cost, "; messages need %.3g s per iteration (linear: %.3g s)",
                  *s.rank_placement->seconds, *s.rank_placement->linear_seconds);
    return text + cost;
}

}  // namespace dbench::program
