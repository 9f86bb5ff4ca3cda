#include "algorithms/asynchronous/rank_peers.hpp"

#include <algorithm>

#include "arena/kernels.hpp"
#include "base/error.hpp"
#include "comm/peers/mailbox.hpp"
#include "comm/peers/pair_averaging.hpp"

namespace dbench::algorithms {
namespace {

using Links = std::vector<graphs::Link>;

std::vector<int> others(const Links& links, int self) {
    std::vector<int> ranks;
    for (const graphs::Link& link : links) {
        if (link.peer != self) ranks.push_back(link.peer);
    }
    return ranks;
}

/// Returns the ranks that can become neighbours of `self`. The graph is symmetric.
std::vector<int> neighbours(const graphs::Schedule& schedule, int self) {
    if (schedule.period() == 1) return others(schedule.in(schedule.at(0), self), self);
    Links all;
    for (int peer = 0; peer < schedule.size(); ++peer) all.push_back({peer, 0});
    return others(all, self);
}

arena::Columns all_columns(arena::Rows x) { return {0, x.stride}; }

/// Averages pairs of replicas (AD-PSGD). The averaging is requested when the turn begins and moves
/// while the gradient is computed.
class PairPeers final : public RankPeers {
public:
    PairPeers(comm::World& world, const Asynchronous& algorithm, const graphs::Schedule& schedule,
              arena::Rows x)
        : algorithm_(algorithm), x_(x), pairs_(world, x, neighbours(schedule, world.rank())) {}

    comm::Service& service() override { return *pairs_; }
    void open(int64_t) override {}

    void begin(const Turn& turn) override {
        pairs_->run_exclusively([this] {
            arena::copy(x_, algorithm_.snapshots(), all_columns(x_));
            averagings_before_ = pairs_->averagings();
        });
        if (const int64_t j = algorithm_.requested_partner(turn); j >= 0)
            pairs_->request(static_cast<int>(j));
    }

    void run_exclusively(const std::function<void()>& work) override {
        pairs_->run_exclusively(work);
    }

    void average(int64_t, int64_t) override { pairs_->finish(); }
    int64_t averagings(int64_t) const override { return pairs_->averagings() - averagings_before_; }
    std::vector<double> take_sent(int64_t, int64_t) override { return {}; }

    void mix(int64_t, const Links&) override { DBENCH_EXPECT(false); }
    int64_t oldest(int64_t) const override { return -1; }

private:
    const Asynchronous& algorithm_;
    const arena::Rows x_;
    comm::RunningService<comm::PairAveraging> pairs_;
    int64_t averagings_before_ = 0;  ///< Averagings before the snapshot.
};

/// Publishes snapshots when they are taken (SWIFT).
class MailboxPeers final : public RankPeers {
public:
    MailboxPeers(comm::World& world, const Asynchronous& algorithm,
                 const graphs::Schedule& schedule, arena::Rows x)
        : world_(world),
          algorithm_(algorithm),
          x_(x),
          from_(others(schedule.in(schedule.at(0), world.rank()), world.rank())),
          mailbox_(world, x.stride * arena::size_of(x.type),
                   others(schedule.out(schedule.at(0), world.rank()), world.rank()), from_) {}

    comm::Service& service() override { return *mailbox_; }

    /// Publishes the first snapshot and waits for those of all neighbours. Replicas of equal speed
    /// then see the same rows as in a synchronous run.
    void open(int64_t t) override {
        publish(t);
        mailbox_->wait_for(t);
    }

    void begin(const Turn& turn) override {
        arena::copy(x_, algorithm_.snapshots(), all_columns(x_));
        iteration_ = turn.iteration;
        if (published_ != turn.iteration) publish(turn.iteration);
    }

    void run_exclusively(const std::function<void()>& work) override { work(); }

    void mix(int64_t i, const Links& links) override {
        std::vector<std::vector<arena::Term>> terms(1);
        std::vector<comm::Mailbox::StampedRow> mail;
        oldest_ = iteration_;
        for (size_t k = 0; k < from_.size(); ++k) {
            mail.push_back(mailbox_->last(k));
            oldest_ = std::min(oldest_, mail.back().stamp);
        }
        size_t next = 0;
        for (const graphs::Link& link : links) {
            if (link.peer == i) {
                terms[0].insert(terms[0].begin(), {x_.data, link.weight});
            } else {
                terms[0].push_back({mail[next++].row.get(), link.weight});
            }
        }
        arena::weighted_means(terms, x_, all_columns(x_));
    }
    int64_t oldest(int64_t) const override { return oldest_; }
    std::vector<double> take_sent(int64_t first, int64_t count) override {
        const std::vector<int64_t> mine = mailbox_->take_sent(first, count);
        std::vector<double> all(mine.begin(), mine.end());
        world_.sum(all);
        return all;
    }

    void average(int64_t, int64_t) override { DBENCH_EXPECT(false); }
    int64_t averagings(int64_t) const override { return -1; }

private:
    void publish(int64_t iteration) {
        published_ = iteration;
        mailbox_->publish(x_.data, iteration);
    }

    comm::World& world_;
    const Asynchronous& algorithm_;
    const arena::Rows x_;
    const std::vector<int> from_;
    comm::RunningService<comm::Mailbox> mailbox_;
    int64_t iteration_ = 0, oldest_ = 0;
    int64_t published_ = -1;
};

}  // namespace

std::unique_ptr<RankPeers> make_rank_peers(comm::World& world, const Asynchronous& algorithm,
                                           const graphs::Schedule& schedule, arena::Rows x) {
    if (algorithm.sends_snapshots()) {
        return std::make_unique<MailboxPeers>(world, algorithm, schedule, x);
    }
    return std::make_unique<PairPeers>(world, algorithm, schedule, x);
}

int64_t rows_of_rank_peers(const Asynchronous& algorithm, const graphs::Schedule& schedule) {
    if (!algorithm.sends_snapshots()) return comm::PairAveraging::kRows;
    size_t most = 0;
    for (int i = 0; i < schedule.size(); ++i) {
        const size_t in = others(schedule.in(schedule.at(0), i), i).size();
        const size_t out = others(schedule.out(schedule.at(0), i), i).size();
        most = std::max(most, in * comm::Mailbox::kRowsIn + out * comm::Mailbox::kRowsOut);
    }
    return static_cast<int64_t>(most);
}

}  // namespace dbench::algorithms
