#include "predict/work.hpp"

#include <algorithm>
#include <utility>

namespace dbench::predict {

SumFacts Work::sums(const Network& network) const {
    const bool equal = std::all_of(shares.begin(), shares.end(),
                                   [&](double share) { return share == shares.front(); });
    return {network.host, network.in_place, library_sum, wire != 1, equal};
}

std::vector<double> tiles_of(double row_bytes) {
    constexpr double kTileBytes = 4 << 20;
    std::vector<double> tiles;
    for (double left = row_bytes; left > 0; left -= kTileBytes) {
        tiles.push_back(std::min(left, kTileBytes));
    }
    return tiles;
}

double passes_of_all_reduce(int members, double rows) {
    const double m = members;
    return std::min(m + 1, 3 + 1 / m) + 2 * (rows - 1);
}

double Prolongation::of(double bytes) const {
    std::pair<double, double> before{0, 0}, next{0, 0};  // bytes and seconds
    double slope = 0;
    for (const auto& point : measured) {
        before = std::exchange(next, point);
        slope = (next.second - before.second) / (next.first - before.first);
        if (bytes <= next.first) return before.second + slope * (bytes - before.first);
    }
    return next.second + std::max(0.0, slope) * (bytes - next.first);
}

Prolongation Prolongation::scaled(double replicas) const {
    Prolongation found;
    for (const auto& [bytes, seconds] : measured) {
        found.measured[replicas * bytes] = replicas * seconds;
    }
    return found;
}

}  // namespace dbench::predict
