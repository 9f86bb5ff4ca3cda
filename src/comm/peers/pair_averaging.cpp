#include "comm/peers/pair_averaging.hpp"

#include <utility>

#include "arena/kernels.hpp"
#include "base/error.hpp"

namespace dbench::comm {

PairAveraging::PairAveraging(World& world, arena::Rows x, const std::vector<int>& peers)
    : Service(world, peers), x_(x), partner_row_(x.type, x.first, 1, x.stride) {
    DBENCH_EXPECT(x.count == 1 && x.space == arena::Space::host);
}

namespace {

/// Notes. `kRequest`: a higher rank requests an averaging from a lower one. `kGranted`: a lower
/// rank has granted its row to a higher one, at the request of the higher one (`kByHigherRank`) or
/// of the lower one (`kByLowerRank`).
constexpr int64_t kRequest = 0, kGranted = 1;
constexpr int64_t kByHigherRank = 0, kByLowerRank = 1;

}  // namespace

void PairAveraging::request(int peer) {
    {
        const std::lock_guard lock(mutex_);
        DBENCH_EXPECT(requested_peer_ < 0 && peer != rank());
        requested_peer_ = peer;
        if (rank() < peer) {
            queue_.push_back({peer, true});
        } else {
            send(peer, own(kRequest));
        }
    }
    world_impl().engine.test(*this);
}

void PairAveraging::finish() {
    wait_until("an averaging of two replicas", [this] { return requested_peer_ < 0; });
}

void PairAveraging::run_exclusively(const std::function<void()>& work) {
    {
        const std::lock_guard lock(mutex_);
        queue_.push_back({rank(), true});
    }
    wait_until("the replica's turn", [this] { return turn_ && turn_->rank == rank(); });
    work();
    {
        const std::lock_guard lock(mutex_);
        turn_.reset();
    }
    world_impl().engine.test(*this);
}

int64_t PairAveraging::averagings() const {
    const std::lock_guard lock(mutex_);
    return averagings_;
}

void PairAveraging::handle_derived_note(int from, Kind kind, int64_t value) {
    if (kind == own(kRequest)) queue_.push_back({from, false});
    if (kind == own(kGranted)) queue_.push_back({from, value == kByHigherRank});
}

void PairAveraging::advance_requests() {
    for (;;) {
        if (row_exchange_) {
            if (!row_exchange_->test()) return;
            end_turn();
        }
        if (turn_ || queue_.empty()) return;
        begin_turn();
    }
}

void PairAveraging::begin_turn() {
    turn_ = queue_.front();
    queue_.pop_front();
    const int other = turn_->rank;
    if (other == rank()) return;
    if (rank() < other) send(other, own(kGranted), turn_->mine ? kByLowerRank : kByHigherRank);
    const int64_t bytes = x_.stride * arena::size_of(x_.type);
    const Message out{other, row_tag(), x_.data, bytes};
    const Message in{other, row_tag(), partner_row_.rows().data, bytes};
    row_exchange_ = world_impl().rows().start({&out, 1}, {&in, 1});
}

/// Both ranks add the rows in the same order, so both get the same bits.
void PairAveraging::end_turn() {
    const arena::Rows theirs = partner_row_.rows();
    std::vector<std::vector<arena::Term>> terms{{{x_.data, 0.5}, {theirs.data, 0.5}}};
    if (turn_->rank < rank()) std::swap(terms[0][0], terms[0][1]);
    arena::weighted_means(terms, x_, {0, x_.stride});
    ++averagings_;
    if (turn_->mine) requested_peer_ = -1;
    row_exchange_.reset();
    turn_.reset();
}

std::vector<int> PairAveraging::awaited_by_requests() const {
    if (turn_ && turn_->rank != rank()) return {turn_->rank};
    if (requested_peer_ >= 0) return {requested_peer_};
    return {};
}

}  // namespace dbench::comm
