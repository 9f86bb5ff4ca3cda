#include "predict/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace dbench::predict {
namespace {

constexpr int64_t kWarmUp = 16;  // iterations until the start at the same moment is forgotten

/// A piece of a row that is exchanged as a whole.
struct Piece {
    double bytes, ready, update;
};

/// A rank's piece at the moment at which its messages can leave.
struct Departure {
    double time;
    int rank, piece;
    bool operator<(const Departure& other) const {
        if (time != other.time) return time < other.time;
        return rank != other.rank ? rank < other.rank : piece < other.piece;
    }
};

class Simulation {
public:
    Simulation(const Work& work, const Network& network, const Rounds& rounds, Order order,
               uint64_t seed)
        : work_(work),
          network_(network),
          rounds_(rounds),
          order_(order),
          ranks_(static_cast<int>(network.host.size())) {
        make_pieces();
        const auto ranks = static_cast<size_t>(ranks_);
        const auto hosts = static_cast<size_t>(network.hosts());
        for (int r = 0; r < ranks_; ++r) {
            streams_.emplace_back(seed, base::Purpose::compute_time,
                                  std::initializer_list<uint64_t>{static_cast<uint64_t>(r)});
        }
        for (uint64_t h = 0; h < hosts; ++h) {
            link_streams_.emplace_back(seed, base::Purpose::link_time,
                                       std::initializer_list<uint64_t>{h});
        }
        slowdown_.resize(hosts);
        peers_.resize(hosts);
        targets_.resize(hosts);
        changed_.resize(hosts);
        clock_.resize(ranks);
        computed_.resize(ranks);
        compute_.resize(ranks);
        sent_until_.resize(ranks);
        flow_until_.resize(ranks);
        up_.resize(hosts);
        down_.resize(hosts);
        ready_.resize(ranks * pieces_.size());
        arrived_.resize(ready_.size());
    }

    /// Advances all ranks by iteration t; returns the mean exposed seconds.
    double advance(int64_t t) {
        const RoundPlan& plan = rounds_.at(t);
        find_peers(t);
        for (int r = 0; r < ranks_; ++r) {
            compute_[index(r)] = work_.compute.at(streams_[index(r)].uniform());
            compute_[index(r)] += prolonged(plan, r);
            if (work_.delay) compute_[index(r)] += work_.delay(r, t);
        }
        for (size_t h = 0; h < slowdown_.size(); ++h) {
            slowdown_[h] = network_.slowdown.of(peers_[h]).at(link_streams_[h].uniform());
            if (changed_[h]) slowdown_[h] *= network_.slowdown.after_change;
        }
        before_ = clock_;
        switch (order_) {
            case Order::adapt_then_combine:
                adapt_then_combine(plan);
                break;
            case Order::combine_while_adapt:
                combine_while_adapt(plan);
                break;
            case Order::combine_then_adapt:
                combine_then_adapt(plan);
                break;
            case Order::all_reduce:
                all_reduce(plan);
                break;
            case Order::asynchronous:
                asynchronous(plan);
                break;
        }
        double exposed = 0;
        for (int r = 0; r < ranks_; ++r) {
            exposed += seconds(r) - compute_[index(r)] - work_.row_costs.update;
        }
        return exposed / ranks_;
    }

    double seconds(int rank) const { return clock_[index(rank)] - before_[index(rank)]; }

private:
    static size_t index(int rank) { return static_cast<size_t>(rank); }
    size_t at(int rank, size_t piece) const { return index(rank) * pieces_.size() + piece; }

    void make_pieces() {
        const bool whole = order_ != Order::adapt_then_combine && order_ != Order::all_reduce;
        double all = 0;
        for (const Bucket& bucket : work_.buckets) all += bucket.bytes;
        row_bytes_ = all;
        const auto share = [&](double bytes) { return all > 0 ? bytes / all : 0; };
        if (whole) {
            for (const double bytes : work_.tiles) {
                pieces_.push_back({bytes, 1, work_.row_costs.update * share(bytes)});
            }
        } else {
            for (const Bucket& bucket : work_.buckets) {
                pieces_.push_back(
                    {bucket.bytes, bucket.ready, work_.row_costs.update * share(bucket.bytes)});
            }
        }
        DBENCH_EXPECT(!pieces_.empty());
    }

    // Sets peers_, targets_ and changed_ for iteration t, from those of iteration t - 1.
    void find_peers(int64_t t) {
        const size_t plan = rounds_.index(t);
        std::fill(changed_.begin(), changed_.end(), false);
        if (plan == std::exchange(plan_before_, plan)) return;
        const std::vector<std::set<int>> before = targets_;
        set_targets(rounds_.plans[plan]);
        for (size_t h = 0; h < targets_.size(); ++h) {
            const std::set<int>&last = before[h], &now = targets_[h];
            changed_[h] = !last.empty() && !now.empty() &&
                          std::none_of(now.begin(), now.end(), [&](int host) {
                              return last.contains(host) || before[index(host)].empty();
                          });
        }
    }

    // Sets targets_ and peers_. In an all-reduce a host sends to all others, of which the next one
    // becomes a target: the only one in a ring or in a pair.
    void set_targets(const RoundPlan& plan) {
        for (std::set<int>& hosts : targets_) hosts.clear();
        for (int r = 0; r < ranks_; ++r) {
            const int here = network_.host[index(r)];
            for (const auto& [other, rows] : plan.out[index(r)]) {
                if (network_.host[index(other)] != here) {
                    targets_[index(here)].insert(network_.host[index(other)]);
                }
            }
        }
        for (size_t h = 0; h < peers_.size(); ++h) peers_[h] = static_cast<int>(targets_[h].size());
        for (const std::vector<int>& group : plan.groups) {
            std::set<int> members;
            for (const int r : group) members.insert(network_.host[index(r)]);
            if (members.size() < 2) continue;
            const int others = static_cast<int>(members.size()) - 1;
            int last = *members.rbegin();
            for (const int h : members) {
                peers_[index(h)] += work_.library_sum ? 1 : others;
                targets_[index(std::exchange(last, h))].insert(h);
            }
        }
    }

    // The seconds by which a rank's messages prolong its compute step; negative if it sends less
    // than when that was measured.
    double prolonged(const RoundPlan& plan, int rank) const {
        const Prolongation& prolongation = work_.row_costs.prolongation;
        if (prolongation.measured.empty()) return 0;
        const double more =
            prolongation.of(bytes_in_messages(plan, rank)) - prolongation.of(work_.sent_in_compute);
        return std::max(-compute_[index(rank)], more);
    }

    // The bytes that a rank sends as messages in an iteration; rows that are read in place are
    // none.
    double bytes_in_messages(const RoundPlan& plan, int rank) const {
        return plan.rows_in_messages(rank, network_.host, network_.in_place) * row_bytes_ *
               work_.wire;
    }

    // The seconds of the weighted sums of a piece. Each reads the rank's own rows and the rows of
    // neighbours, and writes the result. In combine_while_adapt the update has already been counted
    // with reading and writing x: only the rows of neighbours are added.
    double mixing(const RoundPlan& plan, int rank, const Piece& piece) const {
        if (!plan.averages) return 0;
        double rows = plan.rows_read[index(rank)];
        if (rows == 0) return 0;
        if (order_ != Order::combine_while_adapt) rows += 2 * work_.rows_per_rank;
        return rows * piece.bytes * work_.row_costs.seconds_per_byte;
    }

    // The seconds of a member's arithmetic in an all-reduce of m ranks: it adds its share of m
    // rows, then writes the means of all shares. A small group reads all rows instead. 0 for m = 0.
    double summing(int members, const Piece& piece) const {
        if (members == 0) return 0;
        const double m = members;
        const double passes = std::min(m + 1, 3 + 1 / m) + 2 * (work_.rows_per_rank - 1);
        return passes * piece.bytes * work_.row_costs.seconds_per_byte;
    }

    // Moves a piece of a rank's rows, which can leave at `time`, to the rank's neighbours. Messages
    // between hosts share the sender's uplink and the receiver's downlink: up_ and down_ are the
    // times at which these have moved all bytes so far. The messages to several neighbours move at
    // the same time. The messages to one neighbour are not faster than `remote`. In a host that
    // does not read rows in place, a rank's messages leave one after another.
    void send(const RoundPlan& plan, int from, size_t piece, double time) {
        const int here = network_.host[index(from)];
        const auto& messages = plan.out[index(from)];
        const double row = pieces_[piece].bytes * work_.wire;
        double& up = up_[index(here)];
        const double first = std::max(up, time), slower = slowdown_[index(here)];
        double remote_rows = 0, largest = 0;
        for (const auto& [to, rows] : messages) {
            if (network_.host[index(to)] == here) continue;
            remote_rows += rows;
            largest = std::max<double>(largest, rows);
        }
        double& flow = flow_until_[index(from)];
        if (remote_rows > 0) {
            up = first + remote_rows * row * slower / network_.uplink;
            flow = std::max(flow, time) + largest * row * slower / network_.remote.bandwidth;
        }
        for (const auto& [to, rows] : messages) {
            const int there = network_.host[index(to)];
            double& arrival = arrived_[at(to, piece)];
            if (here != there) {
                double& down = down_[index(there)];
                down = std::max(down, first + network_.remote.latency) +
                       rows * row * slower / network_.uplink;
                const double left = std::max(up, flow);
                arrival = std::max({arrival, down, left + network_.remote.latency});
            } else if (network_.in_place) {
                arrival = std::max(arrival, time + network_.local.latency);
            } else {
                double& busy = sent_until_[index(from)];
                busy = std::max(busy, time) + rows * row / network_.local.bandwidth;
                arrival = std::max(arrival, busy + network_.local.latency);
            }
        }
    }

    // Moves the rows of all ranks to their neighbours: ready_ -> arrived_, which holds the time at
    // which a rank has all rows of a piece.
    void exchange(const RoundPlan& plan) {
        arrived_ = ready_;
        departures_.clear();
        for (int r = 0; r < ranks_; ++r) {
            if (plan.out[index(r)].empty()) continue;
            for (size_t k = 0; k < pieces_.size(); ++k) {
                departures_.push_back({ready_[at(r, k)], r, static_cast<int>(k)});
            }
        }
        std::sort(departures_.begin(), departures_.end());
        for (const Departure& each : departures_) {
            send(plan, each.rank, static_cast<size_t>(each.piece), each.time);
        }
        for (const auto& group : plan.groups) exchange_in_group(group);
    }

    // An all-reduce has two phases: parts of rows go to the member that adds them, then means go to
    // all. Both begin when every member is ready. Of two hosts, the slower one counts. More hosts
    // divide their rows among all links and wait for each other: the slowdown of one holds for all.
    void exchange_in_group(const std::vector<int>& group) {
        const double m = static_cast<double>(group.size());
        // The hosts of the group, and the number of its members there.
        std::vector<std::pair<size_t, int>> members;
        for (const int r : group) {
            const size_t host = index(network_.host[index(r)]);
            if (members.empty() || members.back().first != host) members.emplace_back(host, 0);
            ++members.back().second;
        }
        std::sort(members.begin(), members.end());
        size_t last = 0;
        for (size_t k = 1; k < members.size(); ++k) {
            if (members[k].first == members[last].first) {
                members[last].second += members[k].second;
            } else {
                members[++last] = members[k];
            }
        }
        members.resize(last + 1);
        const bool apart = members.size() > 1;
        // Shares of a row that a host with `count` members sends in one phase, and steps of it.
        const auto sends = [&](int count) {
            return work_.library_sum ? (m - 1) / m : count * (m - count) / m;
        };
        const double steps = work_.library_sum ? m - 1 : 1;
        const Link& link = apart ? network_.remote : network_.local;
        double slower = apart ? slowdown_[members.front().first] : 1;
        if (members.size() == 2) slower = std::max(slower, slowdown_[members.back().first]);
        for (size_t k = 0; k < pieces_.size(); ++k) {
            const double bytes = pieces_[k].bytes * work_.wire;
            double begin = 0;
            for (const int r : group) begin = std::max(begin, ready_[at(r, k)]);
            double end = begin;
            if (apart) {
                for (const auto& [h, count] : members) {
                    const double seconds = 2 * sends(count) * bytes * slower / network_.uplink;
                    for (double* moved : {&up_[h], &down_[h]}) {
                        *moved = std::max(*moved, begin) + seconds;
                        end = std::max(end, *moved);
                    }
                }
            }
            // The messages of one member are not faster than a link alone.
            if (apart || !network_.in_place) {
                for (const int r : group) {
                    double& busy = apart ? flow_until_[index(r)] : sent_until_[index(r)];
                    busy =
                        std::max(busy, begin) + 2 * (m - 1) / m * bytes * slower / link.bandwidth;
                    end = std::max(end, busy);
                }
            }
            for (const int r : group) arrived_[at(r, k)] = end + 2 * steps * link.latency;
        }
    }

    // x <- W (x - lr d): a piece leaves after its update, and is averaged after backward.
    void adapt_then_combine(const RoundPlan& plan) {
        for (int r = 0; r < ranks_; ++r) {
            double updated = 0;
            for (size_t k = 0; k < pieces_.size(); ++k) {
                updated += pieces_[k].update;
                ready_[at(r, k)] =
                    clock_[index(r)] + compute_[index(r)] * pieces_[k].ready + updated;
            }
            computed_[index(r)] = clock_[index(r)] + compute_[index(r)] + work_.row_costs.update;
        }
        exchange(plan);
        finish(plan, false);
    }

    // Gradients: a piece leaves when it is complete, and is updated when its sum has come.
    void all_reduce(const RoundPlan& plan) {
        for (int r = 0; r < ranks_; ++r) {
            for (size_t k = 0; k < pieces_.size(); ++k) {
                ready_[at(r, k)] = clock_[index(r)] + compute_[index(r)] * pieces_[k].ready;
            }
            computed_[index(r)] = clock_[index(r)] + compute_[index(r)];
        }
        exchange(plan);
        finish(plan, true);
    }

    // x <- W x - lr d: a piece leaves as soon as the iteration before has written it.
    void combine_while_adapt(const RoundPlan& plan) {
        if (!started_) {
            for (int r = 0; r < ranks_; ++r) {
                for (size_t k = 0; k < pieces_.size(); ++k) ready_[at(r, k)] = clock_[index(r)];
            }
            started_ = true;
        }
        exchange(plan);
        for (int r = 0; r < ranks_; ++r)
            computed_[index(r)] = clock_[index(r)] + compute_[index(r)];
        finish(plan, true);
    }

    // p = W x, x <- p - lr d(p): nothing is computed meanwhile.
    void combine_then_adapt(const RoundPlan& plan) {
        for (int r = 0; r < ranks_; ++r) {
            for (size_t k = 0; k < pieces_.size(); ++k) ready_[at(r, k)] = clock_[index(r)];
        }
        computed_ = clock_;
        exchange(plan);
        finish(plan, false);
        for (int r = 0; r < ranks_; ++r)
            clock_[index(r)] += compute_[index(r)] + work_.row_costs.update;
    }

    // A rank averages with rows that have come earlier, and waits for nobody. Its own link limits
    // it.
    void asynchronous(const RoundPlan& plan) {
        for (int r = 0; r < ranks_; ++r) {
            double mixed = 0, bytes = 0;
            for (const Piece& piece : pieces_) {
                mixed += mixing(plan, r, piece);
                bytes += piece.bytes * work_.wire;
            }
            double remote = 0;
            for (const auto& [to, rows] : plan.out[index(r)]) {
                if (network_.host[index(to)] != network_.host[index(r)]) remote += rows * bytes;
            }
            clock_[index(r)] += std::max(
                compute_[index(r)] + work_.row_costs.update + mixed,
                remote * slowdown_[index(network_.host[index(r)])] / network_.remote.bandwidth);
        }
    }

    // From computed_ on, averages piece by piece as rows arrive; with `update` also updates.
    void finish(const RoundPlan& plan, bool update) {
        for (int r = 0; r < ranks_; ++r) {
            double now = computed_[index(r)];
            for (size_t k = 0; k < pieces_.size(); ++k) {
                const Piece& piece = pieces_[k];
                now = std::max(now, arrived_[at(r, k)]) + mixing(plan, r, piece) +
                      summing(plan.group_size[index(r)], piece) + (update ? piece.update : 0);
                ready_[at(r, k)] = now;
            }
            clock_[index(r)] = now;
        }
    }

    const Work& work_;
    const Network& network_;
    const Rounds& rounds_;
    const Order order_;
    const int ranks_;
    bool started_ = false;
    double row_bytes_ = 0;
    std::vector<Piece> pieces_;
    std::vector<base::Random> streams_, link_streams_;  // of ranks, and of hosts
    std::vector<double> slowdown_;                      // [hosts]: of the iteration
    // For each host in the iteration: other hosts to which it sends (set_targets), the number of
    // hosts to which it sends at the same time, and whether it changed (Slowdown::after_change).
    std::vector<std::set<int>> targets_;
    std::vector<int> peers_;
    std::vector<bool> changed_;
    size_t plan_before_ = SIZE_MAX;           // the plan of these
    std::vector<double> clock_, before_;      // [ranks]: end of the iteration, and its start.
    std::vector<double> compute_, computed_;  // [ranks]: compute step, and its end.
    std::vector<double> ready_, arrived_;     // [ranks, pieces]
    // Times until which links are busy: of hosts, and of ranks in their host and between hosts.
    std::vector<double> up_, down_, sent_until_, flow_until_;
    std::vector<Departure> departures_;
};

}  // namespace

std::vector<double> tiles_of(double row_bytes) {
    constexpr double kTileBytes = 4 << 20;
    std::vector<double> tiles;
    for (double left = row_bytes; left > 0; left -= kTileBytes) {
        tiles.push_back(std::min(left, kTileBytes));
    }
    return tiles;
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

const Distribution& Slowdown::of(int peers) const {
    const auto next = by_peers.upper_bound(std::max(1, peers));
    return std::prev(next)->second;
}

Slowdown Slowdown::means() const {
    Slowdown means;
    for (const auto& [peers, factors] : by_peers) {
        means.by_peers[peers] = Distribution(factors.mean());
    }
    means.after_change = after_change;
    return means;
}

int Network::hosts() const {
    return host.empty() ? 0 : 1 + *std::max_element(host.begin(), host.end());
}

double Outcome::mean(int64_t begin, int64_t end) const {
    const auto first = step.begin() + begin * ranks, last = step.begin() + end * ranks;
    return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

Outcome simulate(const Work& work, const Network& network, const Rounds& rounds, Order order,
                 int64_t iterations, uint64_t seed) {
    DBENCH_EXPECT(iterations > 0 && !network.host.empty());
    Simulation simulation(work, network, rounds, order, seed);
    Outcome outcome;
    outcome.iterations = iterations;
    outcome.ranks = static_cast<int>(network.host.size());
    outcome.step.reserve(static_cast<size_t>(iterations) * network.host.size());
    // The warm-up is a multiple of the period, so that iteration 0 of the outcome uses round 0.
    const auto period = static_cast<int64_t>(rounds.plan_of.size());
    const int64_t warm_up = (kWarmUp + period - 1) / period * period;
    const int64_t first = period <= 4 * kWarmUp ? -warm_up : 0;
    for (int64_t t = first; t < iterations; ++t) {
        const double exposed = simulation.advance(t - first);
        if (t < 0) continue;
        outcome.exposed += exposed / static_cast<double>(iterations);
        for (int r = 0; r < outcome.ranks; ++r) outcome.step.push_back(simulation.seconds(r));
    }
    return outcome;
}

}  // namespace dbench::predict
