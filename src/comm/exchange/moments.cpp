// Moments over all replicas. For a block of columns at a time, cut into r chunks at segments:
//   1. each rank forms the moments (float64 mean row, m2 per segment) of its k maximal subtrees
//   2. scatter   to each rank, owner of a chunk, its chunk of them: k (r-1)/r float64 rows out; a
//                subtree that is one float32 row goes as it is
//   3. combine   each owner combines all subtrees of its chunk along the tree
//   4. gather    each owner sends its chunk's m2 to the others, and its mean where that is wanted:
//                (r-1)/r float64 rows out
// Scratch is bounded by the block, bits depend neither on it nor on r. On a transport that has a
// queue (row_plane.hpp) all blocks are started at once, ordered by the queues: the host waits for
// nothing.

#include <algorithm>
#include <utility>

#include "arena/device/memory.hpp"
#include "arena/kernels.hpp"
#include "arena/tree.hpp"
#include "comm/exchange/exchange_impl.hpp"
#include "comm/exchange/movement.hpp"

namespace dbench::comm {
namespace {

using arena::Columns;

/// float64 numbers of scratch that a rank's own subtrees may take for one block.
constexpr int64_t kScratch = int64_t{1} << 22;
/// The same where nothing is sent: means that nobody wants need not leave the cache.
constexpr int64_t kCached = int64_t{1} << 16;

struct Segments {
    int begin, end;
    int count() const { return end - begin; }
};

/// The pass over all blocks.
class MomentsPass {
public:
    MomentsPass(Exchange::Impl& exchange, arena::Rows x, double* mean)
        : exchange_(exchange),
          layout_(exchange.layout),
          queue_(exchange.queues().compute),
          transport_queue_(queue_ ? exchange.world.rows().queue() : nullptr),
          x_(x),
          mean_(mean),
          m2_(std::make_shared<arena::Values<double>>(layout_.segments().size())) {
        const Placement& placement = exchange.placement;
        for (int r = 0; r < placement.ranks; ++r) {
            nodes_.push_back(arena::maximal_subtrees(placement.replicas,
                                                     {placement.begin(r), placement.begin(r + 1)}));
            most_nodes_ = std::max(most_nodes_, static_cast<int64_t>(nodes_.back().size()));
        }
    }

    LateSpread run() {
        // A segment has at most kBlock columns and as much padding as fills up 64 bytes. A device
        // is kept busy by large blocks, and has no use for small ones.
        const bool alone = exchange_.world.size() == 1;
        const int64_t scratch = alone && !queue_ ? kCached : kScratch / most_nodes_;
        const int most = static_cast<int>(std::max<int64_t>(scratch / arena::kBlock, 1));
        const int count = static_cast<int>(m2_->size());
        for (int first = 0; first < count; first += most) {
            const Segments segments{first, std::min(first + most, count)};
            alone ? local_block(segments) : block(segments);
        }
        arena::keep(queue_, m2_);
        for (const auto& [block, bytes] : scratch_) arena::keep(queue_, block);
        return {m2_, bytes_};
    }

private:
    // A row of means of some columns and the m2 of their segments, in scratch.
    struct Partial {
        char *mean, *m2;
        arena::Interval interval;
        Segments held;
        double* mean_at(int64_t column) const { return reinterpret_cast<double*>(mean) - column; }
        double* m2_at(int segment) const { return reinterpret_cast<double*>(m2) - segment; }
    };

    Columns columns(Segments s) const {
        const auto& all = layout_.segments();
        const auto start = [&](int i) {
            if (i == 0) return int64_t{0};
            return i < static_cast<int>(all.size()) ? all[i].begin : layout_.columns();
        };
        return {start(s.begin), start(s.end)};
    }

    Segments chunk(Segments block, int rank) const {
        const int64_t ranks = exchange_.placement.ranks, count = block.count();
        return {static_cast<int>(block.begin + count * rank / ranks),
                static_cast<int>(block.begin + count * (rank + 1) / ranks)};
    }

    Partial take(Segments s, arena::Interval interval) {
        char* const mean = take(columns(s).count() * 8);
        return {mean, take(s.count() * 8), interval, s};
    }

    // The next block's takes the same memory: what comes there comes behind what is read of it.
    char* take(int64_t bytes) {
        if (taken_ == scratch_.size()) scratch_.emplace_back(nullptr, -1);
        auto& [block, size] = scratch_[taken_++];
        if (size < bytes) {
            arena::keep(queue_, std::exchange(block, exchange_.pool->take(bytes)));
            size = bytes;
        }
        return block.get();
    }

    void local_block(Segments segments) {
        const Columns range = columns(segments);
        arena::tree_moments(layout_, exchange_.placement.replicas, x_, nodes_[0], range,
                            mean_of(range), m2_->data(), queue_);
        arena::keep(queue_, unwanted_);
    }

    // Where the mean of these columns goes: one block after another to the same scratch, where
    // nobody wants it.
    double* mean_of(Columns range) {
        if (mean_) return mean_;
        if (range.count() > room_) {
            unwanted_ = exchange_.pool->take(range.count() * 8);
            room_ = range.count();
        }
        return reinterpret_cast<double*>(unwanted_.get()) - range.begin;
    }

    void block(Segments segments) {
        const int me = exchange_.world.rank(), ranks = exchange_.world.size();
        const Segments mine = chunk(segments, me);
        tag_ = exchange_.world.next_exchange();
        taken_ = 0;

        std::vector<Partial> partials;  // of all ranks, in order
        std::vector<Leaf> leaves;
        std::vector<Message> out, in;
        for (int r = 0; r < ranks; ++r) {
            for (const arena::Interval node : nodes_[r]) {
                const bool as_row = is_row(node);
                partials.push_back(take(r == me && !as_row ? segments : mine, node));
                if (r == me) {
                    form(partials.back(), x_);
                    send(out, segments, partials.back(),
                         as_row ? row_that_goes(node, segments) : nullptr);
                } else if (as_row) {
                    leaves.push_back({partials.size() - 1, receive_row(in, r, mine)});
                } else {
                    add(in, r, mine, partials.back().mean_at(columns(mine).begin),
                        partials.back().m2_at(mine.begin));
                }
            }
        }
        move(out, in);
        for (const Leaf& leaf : leaves) form(partials[leaf.partial], row_of(leaf, partials, mine));
        combine(partials, mine);
        for (int r = 0; r < ranks; ++r) {
            if (r == me) continue;
            add(out, r, mine, mean_, m2_->data());
            add(in, r, chunk(segments, r), mean_, m2_->data());
        }
        move(out, in);
    }

    /// Whether a subtree goes as the float32 row that it is: half the bytes of its mean.
    bool is_row(arena::Interval node) const {
        return x_.type == arena::DType::float32 && node.end - node.begin == 1;
    }

    // Moments of a subtree of `rows` where they are held.
    void form(const Partial& partial, arena::Rows rows) const {
        const Columns range = columns(partial.held);
        if (range.count() == 0) return;
        arena::tree_moments(layout_, exchange_.placement.replicas, rows, {&partial.interval, 1},
                            range, partial.mean_at(range.begin), partial.m2_at(partial.held.begin),
                            queue_);
    }

    // The row of a subtree of one replica, column 0 of it: where the transport cannot read that, a
    // copy.
    char* row_that_goes(arena::Interval node, Segments block) {
        const arena::Rows row = x_.only(node.begin - x_.first);
        if (x_.space == arena::Space::host || exchange_.world.rows().reads_devices()) {
            return row.at(0, 0);
        }
        const Columns range = columns(block);
        const int64_t size = arena::size_of(x_.type);
        arena::Rows to = row;
        to.data = take(range.count() * size) - range.begin * size;
        arena::copy(row, to, range, queue_);
        return to.at(0, 0);
    }

    // A partial to every other rank's chunk; `row`, where it goes as that.
    void send(std::vector<Message>& out, Segments block, const Partial& partial, char* row) const {
        for (int r = 0; r < exchange_.world.size(); ++r) {
            if (r == exchange_.world.rank()) continue;
            const Segments theirs = chunk(block, r);
            const Columns range = columns(theirs);
            if (!row) {
                add(out, r, theirs, partial.mean_at(columns(block).begin),
                    partial.m2_at(block.begin));
            } else if (theirs.count() > 0) {
                const int64_t size = arena::size_of(x_.type);
                out.push_back({r, tag_, row + range.begin * size, range.count() * size});
            }
        }
    }

    // A row that comes as it is, of a subtree of one replica.
    struct Leaf {
        size_t partial;
        char* row;
    };
    char* receive_row(std::vector<Message>& in, int rank, Segments mine) {
        const int64_t bytes = columns(mine).count() * arena::size_of(x_.type);
        char* const row = take(bytes);
        if (mine.count() > 0) in.push_back({rank, tag_, row, bytes});
        return row;
    }
    arena::Rows row_of(const Leaf& leaf, const std::vector<Partial>& partials,
                       Segments mine) const {
        const int64_t size = arena::size_of(x_.type), first = columns(mine).begin;
        return {leaf.row - first * size,
                x_.type,
                x_.space,
                partials[leaf.partial].interval.begin,
                1,
                x_.stride};
    }

    void combine(const std::vector<Partial>& partials, Segments mine) {
        if (mine.count() == 0) return;
        std::vector<arena::Moments> parts;
        for (const Partial& partial : partials) {
            const Segments held = partial.held;
            parts.push_back({partial.interval, partial.mean_at(columns(held).begin),
                             partial.m2_at(held.begin)});
        }
        const Columns range = columns(mine);
        arena::combine_moments(layout_, exchange_.placement.replicas, parts, range, mean_of(range),
                               m2_->data(), queue_);
        arena::keep(queue_, unwanted_);
    }

    // Messages with the columns of a mean row (if there is one) and m2 of some segments.
    void add(std::vector<Message>& messages, int rank, Segments s, double* mean, double* m2) const {
        if (s.count() == 0) return;
        const Columns range = columns(s);
        if (mean) messages.push_back({rank, tag_, mean + range.begin, range.count() * 8});
        messages.push_back({rank, tag_, m2 + s.begin, int64_t{s.count()} * 8});
    }

    void move(std::vector<Message>& out, std::vector<Message>& in) {
        for (const Message& message : out) bytes_ += static_cast<uint64_t>(message.bytes);
        if (transport_queue_) {
            arena::order(queue_, transport_queue_, "moments that are exchanged");
            move_over(exchange_.world.engine, exchange_.world.rows(), out, in);
            arena::order(transport_queue_, queue_, "moments that have come");
        } else {
            arena::finish(queue_, "moments that are sent");
            exchange_.world.move("the reduction of moments", exchange_.world.rows(), out, in);
        }
        out.clear();
        in.clear();
    }

    Exchange::Impl& exchange_;
    const arena::Layout& layout_;
    arena::Queue* queue_;            // no messages of moments hide behind the step
    arena::Queue* transport_queue_;  // that messages are ordered by; null: the host waits for them
    arena::Rows x_;
    double* mean_;                                                    // row [P], or null
    std::shared_ptr<arena::Values<double>> m2_;                       // per segment [S]
    std::shared_ptr<char> unwanted_;                                  // means of a block
    int64_t room_ = 0;                                                // columns of it
    std::vector<std::pair<std::shared_ptr<char>, int64_t>> scratch_;  // a block's, and its bytes
    size_t taken_ = 0;                                                // of them, by this block
    std::vector<std::vector<arena::Interval>> nodes_;                 // per rank
    int64_t most_nodes_ = 1;
    int tag_ = 0;
    uint64_t bytes_ = 0;
};

}  // namespace

LateSpread Exchange::late_moments(arena::Rows x) { return MomentsPass(*impl_, x, nullptr).run(); }

Spread Exchange::moments(arena::Rows x, double* mean) {
    const LateSpread late = MomentsPass(*impl_, x, mean).run();
    arena::finish(queues().compute, "moments that the host reads");
    Spread spread{std::vector<double>(impl_->layout.tensors().size()), late.bytes};
    impl_->layout.sum_segments(late.m2->data(), spread.m2.data());
    return spread;
}

}  // namespace dbench::comm
