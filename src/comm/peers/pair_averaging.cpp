#include "comm/peers/pair_averaging.hpp"

#include <utility>

#include "arena/kernels.hpp"
#include "base/error.hpp"

namespace dbench::comm {

PairAveraging::PairAveraging(World& world, arena::Rows x, const std::vector<int>& peers)
    : Service(world, peers), x_(x), theirs_(x.type, x.first, 1, x.stride) {
    DBENCH_EXPECT(x.count == 1 && x.space == arena::Space::host);
}

namespace {

/// Notes: a higher rank asks a lower one; a lower one has given its row to a higher one, at whose
/// wish or at its own.
constexpr int64_t kAsk = 0, kGiven = 1;
constexpr int64_t kYours = 0, kMine = 1;

}  // namespace

void PairAveraging::ask(int peer) {
    {
        const std::lock_guard lock(mutex_);
        DBENCH_EXPECT(asked_ < 0 && peer != rank());
        asked_ = peer;
        if (rank() < peer) {
            queue_.push_back({peer, true});
        } else {
            send(peer, own(kAsk));
        }
    }
    world().engine.test(*this);
}

void PairAveraging::finish() {
    wait_until("an averaging of two replicas", [this] { return asked_ < 0; });
}

void PairAveraging::alone(const std::function<void()>& work) {
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
    world().engine.test(*this);
}

int64_t PairAveraging::averagings() const {
    const std::lock_guard lock(mutex_);
    return averagings_;
}

void PairAveraging::heard(int from, Kind kind, int64_t value) {
    if (kind == own(kAsk)) queue_.push_back({from, false});
    if (kind == own(kGiven)) queue_.push_back({from, value == kYours});
}

void PairAveraging::serve() {
    for (;;) {
        if (swap_) {
            if (!swap_->test()) return;
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
    if (rank() < other) send(other, own(kGiven), turn_->mine ? kMine : kYours);
    const int64_t bytes = x_.stride * arena::size_of(x_.type);
    const Message out{other, row_tag(), x_.data, bytes};
    const Message in{other, row_tag(), theirs_.rows().data, bytes};
    swap_ = world().rows().start({&out, 1}, {&in, 1});
}

/// Both ranks add in the same order, so both get the same bits.
void PairAveraging::end_turn() {
    const arena::Rows theirs = theirs_.rows();
    std::vector<std::vector<arena::Term>> terms{{{x_.data, 0.5}, {theirs.data, 0.5}}};
    if (turn_->rank < rank()) std::swap(terms[0][0], terms[0][1]);
    arena::weighted_means(terms, x_, {0, x_.stride});
    ++averagings_;
    if (turn_->mine) asked_ = -1;
    swap_.reset();
    turn_.reset();
}

std::vector<int> PairAveraging::awaited() const {
    if (turn_ && turn_->rank != rank()) return {turn_->rank};
    if (asked_ >= 0) return {asked_};
    return {};
}

}  // namespace dbench::comm
