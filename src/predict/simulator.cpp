#include "predict/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <span>

#include "base/error.hpp"
#include "base/random.hpp"
#include "predict/links.hpp"

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
          sums_(work.sums(network)),
          links_(network, rounds, sums_, seed),
          ranks_(static_cast<int>(network.host.size())) {
        make_pieces();
        const auto ranks = static_cast<size_t>(ranks_);
        for (int r = 0; r < ranks_; ++r) {
            streams_.emplace_back(seed, base::Purpose::compute_time,
                                  std::initializer_list<uint64_t>{static_cast<uint64_t>(r)});
        }
        DBENCH_EXPECT(work.shares.empty() || work.shares.size() == ranks);
        clock_.resize(ranks);
        delay_.resize(ranks);
        computed_.resize(ranks);
        compute_.resize(ranks);
        ready_.resize(ranks * pieces_.size());
        arrived_.resize(ready_.size());
    }

    /// Advances all ranks by iteration t; returns the mean exposed seconds.
    double advance(int64_t t) {
        const RoundPlan& plan = rounds_.at(t);
        links_.advance(t);
        if (&plan != std::exchange(plan_, &plan)) in_messages_ = plan.rows_in_messages(sums_);
        for (int r = 0; r < ranks_; ++r) {
            compute_[index(r)] = share(r) * work_.compute.at(streams_[index(r)].uniform());
            compute_[index(r)] += prolonged(r);
            if (work_.delay) delay_[index(r)] = work_.delay(r, t);
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
            exposed += seconds(r) - delay_[index(r)] - compute_[index(r)] - update(r);
        }
        return exposed / ranks_;
    }

    double seconds(int rank) const { return clock_[index(rank)] - before_[index(rank)]; }

private:
    static size_t index(int rank) { return static_cast<size_t>(rank); }
    // Replicas of a rank over those of the rank that Work describes.
    double share(int rank) const { return work_.shares.empty() ? 1 : work_.shares[index(rank)]; }
    double update(int rank) const { return share(rank) * work_.row_costs.update; }
    // The moment at which a rank begins to compute, if its iteration begins with a delay.
    double computes_from(int rank) const { return clock_[index(rank)] + delay_[index(rank)]; }
    size_t at(int rank, size_t piece) const { return piece * index(ranks_) + index(rank); }
    // Returns the values of all ranks for a piece.
    std::span<double> of_piece(std::vector<double>& values, size_t piece) const {
        return {&values[at(0, piece)], index(ranks_)};
    }

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

    // The seconds by which a rank's messages prolong its compute step; negative if it sends less
    // than when that was measured. In combine_then_adapt no message moves while ranks compute.
    double prolonged(int rank) const {
        const Prolongation& prolongation = work_.row_costs.prolongation;
        if (prolongation.measured.empty() || order_ == Order::combine_then_adapt) return 0;
        const double more =
            prolongation.of(bytes_in_messages(rank)) - prolongation.of(work_.sent_in_compute);
        return std::max(-compute_[index(rank)], more);
    }

    // The bytes that a rank sends as messages in an iteration; rows that are read in place are
    // none.
    double bytes_in_messages(int rank) const {
        return in_messages_[index(rank)] * row_bytes_ * work_.wire;
    }

    // The seconds of the weighted sums of a piece. Each reads the rank's own rows and the rows of
    // neighbours, and writes the result. In combine_while_adapt the update has already been counted
    // with reading and writing x: only the rows of neighbours are added.
    double mixing(const RoundPlan& plan, int rank, const Piece& piece) const {
        if (!plan.averages) return 0;
        double rows = plan.rows_read[index(rank)];
        if (rows == 0) return 0;
        if (order_ == Order::asynchronous) rows *= work_.links_used;
        if (order_ != Order::combine_while_adapt) rows += 2 * own_rows(rank);
        return rows * piece.bytes * work_.row_costs.seconds_per_byte;
    }

    // The seconds of a member's arithmetic in an all-reduce; 0 if the rank is no member.
    double summing(const RoundPlan& plan, int rank, const Piece& piece) const {
        const int members = plan.group_size[index(rank)];
        if (members == 0) return 0;
        return passes_of_all_reduce(members, own_rows(rank)) * piece.bytes *
               work_.row_costs.seconds_per_byte;
    }
    double own_rows(int rank) const { return share(rank) * work_.rows_per_rank; }

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
            const auto piece = static_cast<size_t>(each.piece);
            links_.send(each.rank, pieces_[piece].bytes * work_.wire, each.time,
                        of_piece(arrived_, piece));
        }
        for (size_t group = 0; group < links_.groups(); ++group) {
            for (size_t k = 0; k < pieces_.size(); ++k) {
                links_.all_reduce(group, pieces_[k].bytes * work_.wire, of_piece(ready_, k),
                                  of_piece(arrived_, k));
            }
        }
    }

    // x <- W (x - lr d): a piece leaves after its update, and is averaged after backward.
    void adapt_then_combine(const RoundPlan& plan) {
        for (int r = 0; r < ranks_; ++r) {
            double updated = 0;
            for (size_t k = 0; k < pieces_.size(); ++k) {
                updated += share(r) * pieces_[k].update;
                ready_[at(r, k)] =
                    computes_from(r) + compute_[index(r)] * pieces_[k].ready + updated;
            }
            computed_[index(r)] = computes_from(r) + compute_[index(r)] + update(r);
        }
        exchange(plan);
        finish(plan, false);
    }

    // Gradients: a piece leaves when it is complete, and is updated when its sum has come.
    void all_reduce(const RoundPlan& plan) {
        for (int r = 0; r < ranks_; ++r) {
            for (size_t k = 0; k < pieces_.size(); ++k) {
                ready_[at(r, k)] = computes_from(r) + compute_[index(r)] * pieces_[k].ready;
            }
            computed_[index(r)] = computes_from(r) + compute_[index(r)];
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
            computed_[index(r)] = computes_from(r) + compute_[index(r)];
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
            clock_[index(r)] += delay_[index(r)] + compute_[index(r)] + update(r);
    }

    // A rank averages with rows that have come earlier, and waits for nobody. The links limit it:
    // its own, and the uplink that it shares with the ranks of its host, which send as often.
    void asynchronous(const RoundPlan& plan) {
        std::vector<double> remote(index(ranks_)), of_host(index(network_.hosts()));
        for (int r = 0; r < ranks_; ++r) {
            for (const auto& [to, rows] : plan.out[index(r)]) {
                if (network_.host[index(to)] != network_.host[index(r)])
                    remote[index(r)] += rows * row_bytes_ * work_.wire;
            }
            of_host[index(network_.host[index(r)])] += remote[index(r)];
        }
        for (int r = 0; r < ranks_; ++r) {
            double mixed = 0;
            for (const Piece& piece : pieces_) mixed += mixing(plan, r, piece);
            const double sent = std::max(remote[index(r)] / network_.remote.bandwidth,
                                         of_host[index(network_.host[index(r)])] / network_.uplink);
            const double busy = delay_[index(r)] + compute_[index(r)] + update(r) + mixed;
            // A rank that sends nothing to other hosts needs no uplink.
            const bool apart = remote[index(r)] > 0;
            clock_[index(r)] += apart ? std::max(busy, sent * links_.slowdown(r)) : busy;
        }
    }

    // From computed_ on, averages piece by piece as rows arrive; with `update` also updates.
    void finish(const RoundPlan& plan, bool update) {
        for (int r = 0; r < ranks_; ++r) {
            double now = computed_[index(r)];
            for (size_t k = 0; k < pieces_.size(); ++k) {
                const Piece& piece = pieces_[k];
                now = std::max(now, arrived_[at(r, k)]) + mixing(plan, r, piece) +
                      summing(plan, r, piece) + (update ? share(r) * piece.update : 0);
                ready_[at(r, k)] = now;
            }
            clock_[index(r)] = now;
        }
    }

    const Work& work_;
    const Network& network_;
    const Rounds& rounds_;
    const Order order_;
    const SumFacts sums_;
    Links links_;
    const int ranks_;
    bool started_ = false;
    double row_bytes_ = 0;
    std::vector<Piece> pieces_;
    const RoundPlan* plan_ = nullptr;         // of the iteration before
    std::vector<double> in_messages_;         // [ranks]: rows of this iteration
    std::vector<base::Random> streams_;       // [ranks]
    std::vector<double> clock_, before_;      // [ranks]: end of the iteration, and its start
    std::vector<double> delay_;               // [ranks]: seconds before the compute step
    std::vector<double> compute_, computed_;  // [ranks]: compute step, and its end
    std::vector<double> ready_, arrived_;     // [pieces, ranks]
    std::vector<Departure> departures_;
};

}  // namespace

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
