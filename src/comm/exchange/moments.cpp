// Moments over all replicas. The pass takes one block of columns after another; a block is cut into
// r chunks at segments, and each of the r ranks owns one chunk:
//   1. form      Each rank computes the moments (float64 mean row, m2 per segment) of its k maximal
//                subtrees.
//   2. scatter   Each rank sends to each owner the owner's chunk of them: k (r-1)/r float64 rows.
//                It sends a subtree of one replica as its float32 row instead.
//   3. combine   Each owner combines all subtrees of its chunk along the tree.
//   4. gather    Each owner sends its chunk's m2 to the others, and its mean if the caller needs
//                it: (r-1)/r float64 rows.
// A block bounds the scratch memory. The bits depend neither on the block nor on r. If the
// transport has a queue (transport/row_transport.hpp), all blocks are started at once, ordered by
// queues, and the host does not wait.

#include <algorithm>
#include <utility>

#include "arena/kernels.hpp"
#include "arena/tree.hpp"
#include "comm/exchange/exchange_impl.hpp"
#include "comm/exchange/transfer_operation.hpp"

namespace dbench::comm {
namespace {

using arena::Columns;

/// Upper bound on the float64 numbers of scratch for a rank's own subtrees in one block.
constexpr int64_t kScratch = int64_t{1} << 22;
/// The bound if nothing is sent: the means then serve only as scratch and should stay in the cache.
constexpr int64_t kCached = int64_t{1} << 16;

/// The segments begin .. end - 1 of the layout.
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
          queue_(exchange.place().compute()),
          transport_queue_(queue_.immediate() ? nullptr : exchange.world_impl.rows().queue()),
          x_(x),
          mean_(mean),
          m2_(std::make_shared<arena::HostVisibleArray<double>>(
              exchange.place().values<double>(layout_.segments().size()))) {
        const Placement& placement = exchange.placement;
        for (int r = 0; r < placement.ranks; ++r) {
            nodes_.push_back(arena::maximal_subtrees(placement.replicas,
                                                     {placement.begin(r), placement.begin(r + 1)}));
            most_nodes_ = std::max(most_nodes_, static_cast<int64_t>(nodes_.back().size()));
        }
    }

    DeferredMoments run() {
        // A segment has at most kBlock columns and padding to 64 bytes. A device is kept busy by
        // large blocks and does not benefit from small ones.
        const bool alone = exchange_.world_impl.size() == 1;
        const int64_t scratch = alone && queue_.immediate() ? kCached : kScratch / most_nodes_;
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
    // A subtree's row of means of some columns and the m2 of their segments, in scratch.
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

    // Returns scratch. Each block reuses the memory of the block before it: what the new block
    // writes there is ordered after the reads of the old one.
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
        arena::keep(queue_, discarded_mean_);
    }

    // Returns where the mean of these columns is written (address of column 0): to the caller's
    // row, or to scratch that is reused for every block.
    double* mean_of(Columns range) {
        if (mean_) return mean_;
        if (range.count() > discarded_columns_) {
            discarded_mean_ = exchange_.pool->take(range.count() * 8);
            discarded_columns_ = range.count();
        }
        return reinterpret_cast<double*>(discarded_mean_.get()) - range.begin;
    }

    void block(Segments segments) {
        const int me = exchange_.world_impl.rank(), ranks = exchange_.world_impl.size();
        const Segments mine = chunk(segments, me);
        tag_ = exchange_.world_impl.next_exchange();
        taken_ = 0;

        std::vector<Partial> partials;  // of all ranks, in rank order
        std::vector<Leaf> leaves;
        std::vector<Message> out, in;
        for (int r = 0; r < ranks; ++r) {
            for (const arena::Interval node : nodes_[r]) {
                const bool as_row = is_row(node);
                partials.push_back(take(r == me && !as_row ? segments : mine, node));
                if (r == me) {
                    form(partials.back(), x_);
                    send(out, segments, partials.back(),
                         as_row ? row_to_send(node, segments) : nullptr);
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

    // True if a subtree is sent as its float32 row, which has half the bytes of its mean.
    bool is_row(arena::Interval node) const {
        return x_.type == arena::DType::float32 && node.end - node.begin == 1;
    }

    // Computes the moments of a subtree from its `rows`, for the columns that the partial holds.
    void form(const Partial& partial, arena::Rows rows) const {
        const Columns range = columns(partial.held);
        if (range.count() == 0) return;
        arena::tree_moments(layout_, exchange_.placement.replicas, rows, {&partial.interval, 1},
                            range, partial.mean_at(range.begin), partial.m2_at(partial.held.begin),
                            queue_);
    }

    // Returns the address of column 0 of the row to send for a subtree of one replica: a copy if
    // the transport cannot read the row.
    char* row_to_send(arena::Interval node, Segments block) {
        const arena::Rows row = x_.only(node.begin - x_.first);
        if (x_.space == arena::Space::host || exchange_.world_impl.rows().reads_devices()) {
            return row.at(0, 0);
        }
        const Columns range = columns(block);
        const int64_t size = arena::size_of(x_.type);
        arena::Rows to = row;
        to.data = take(range.count() * size) - range.begin * size;
        arena::copy(row, to, range, queue_);
        return to.at(0, 0);
    }

    // Adds the messages with a partial's chunks to all other ranks. Sends `row` instead if it is
    // not null.
    void send(std::vector<Message>& out, Segments block, const Partial& partial, char* row) const {
        for (int r = 0; r < exchange_.world_impl.size(); ++r) {
            if (r == exchange_.world_impl.rank()) continue;
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

    // A row that arrives for a subtree of one replica.
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
        arena::keep(queue_, discarded_mean_);
    }

    // Adds the messages with the columns of a mean row (if `mean` is not null) and the m2 of some
    // segments.
    void add(std::vector<Message>& messages, int rank, Segments s, double* mean, double* m2) const {
        if (s.count() == 0) return;
        const Columns range = columns(s);
        if (mean) messages.push_back({rank, tag_, mean + range.begin, range.count() * 8});
        messages.push_back({rank, tag_, m2 + s.begin, int64_t{s.count()} * 8});
    }

    void move(std::vector<Message>& out, std::vector<Message>& in) {
        for (const Message& message : out) bytes_ += static_cast<uint64_t>(message.bytes);
        if (transport_queue_) {
            arena::order(queue_, *transport_queue_, "moments that are exchanged");
            start_on_queue(exchange_.world_impl.engine, exchange_.world_impl.rows(), out, in);
            arena::order(*transport_queue_, queue_, "moments that have come");
        } else {
            arena::finish(queue_, "moments that are sent");
            exchange_.world_impl.move("the reduction of moments", exchange_.world_impl.rows(), out,
                                      in);
        }
        out.clear();
        in.clear();
    }

    Exchange::Impl& exchange_;
    const arena::Layout& layout_;
    arena::Queue& queue_;  // the compute queue: moments are not computed concurrently with the step
    arena::Queue* transport_queue_;  // orders the messages; null: the host waits for them
    arena::Rows x_;
    double* mean_;                                         // row [P], or null
    std::shared_ptr<arena::HostVisibleArray<double>> m2_;  // per segment [S]
    std::shared_ptr<char> discarded_mean_;  // scratch for means that the caller does not want
    int64_t discarded_columns_ = 0;         // columns of discarded_mean_
    // Blocks of scratch and their bytes.
    std::vector<std::pair<std::shared_ptr<char>, int64_t>> scratch_;
    size_t taken_ = 0;  // scratch blocks in use by the current block of columns
    std::vector<std::vector<arena::Interval>> nodes_;  // per rank
    int64_t most_nodes_ = 1;
    int tag_ = 0;
    uint64_t bytes_ = 0;
};

}  // namespace

DeferredMoments Exchange::deferred_moments(arena::Rows x) {
    return MomentsPass(*impl_, x, nullptr).run();
}

SecondMoments Exchange::moments(arena::Rows x, double* mean) {
    const DeferredMoments late = MomentsPass(*impl_, x, mean).run();
    arena::finish(place().compute(), "moments that the host reads");
    SecondMoments spread{std::vector<double>(impl_->layout.tensors().size()), late.bytes};
    impl_->layout.sum_segments(late.m2->data(), spread.m2.data());
    return spread;
}

}  // namespace dbench::comm
