#pragma once
// Checks of World's collectives. Each returns "" or a description of the error.

#include "comm/ranks.hpp"

namespace dbench::comm::tests {

/// Returns a text with one of several kinds of length: empty, short, about as long as a packet,
/// long.
inline std::string ragged_text(int rank) {
    const size_t lengths[] = {0, 1, 4087, 4088, 4089, 300000};
    return std::string(lengths[static_cast<size_t>(rank) % 6], static_cast<char>('a' + rank));
}

inline std::string check_collectives(World& world) {
    for (int shift = 0; shift < 6; ++shift) {
        const auto text = [&](int rank) { return ragged_text(rank + shift); };
        world.barrier();

        const std::vector<std::string> all = world.all_gather(text(world.rank()));
        if (static_cast<int>(all.size()) != world.size()) return "all_gather: a wrong size";
        for (int r = 0; r < world.size(); ++r) {
            if (all[r] != text(r)) return "all_gather: a wrong text of rank " + std::to_string(r);
        }

        const std::vector<std::string> some = world.gather(text(world.rank()));
        if (world.rank() != 0 && !some.empty()) return "gather: more than rank 0 needs";
        if (world.rank() == 0 && some != all) return "gather: not what all_gather gives";

        std::string news = world.rank() == 0 ? text(4) : "old";
        world.broadcast(news);
        if (news != text(4)) return "broadcast: another text";

        std::vector<double> values{1.0 / (world.rank() + 3), 1e16 * (world.rank() == 0), 1.0};
        world.sum(values);
        std::vector<double> expected{0, 1e16, 1};
        for (int r = 0; r < world.size(); ++r) expected[0] += 1.0 / (r + 3);
        for (int r = 1; r < world.size(); ++r) expected[2] += 1;
        if (values != expected) return "sum: not in rank order";
        std::vector<double> none;
        world.sum(none);
    }
    return "";
}

/// Returns what `agree` throws if the ranks `failing` fail, rank r with "broken r".
inline std::string agreed(World& world, const std::vector<int>& failing, bool user) {
    std::string error;
    for (const int rank : failing) {
        if (rank == world.rank()) error = "broken " + std::to_string(rank);
    }
    try {
        world.agree(error, user);
    } catch (const base::UserError& e) {
        return std::string("user: ") + e.what();
    } catch (const base::RunError& e) {
        return std::string("run: ") + e.what();
    }
    return "";
}

}  // namespace dbench::comm::tests
