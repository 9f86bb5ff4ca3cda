// Moments over all replicas. For a block of columns at a time, cut into r chunks at segments:
//   1. each rank forms the moments (float64 mean row, m2 per segment) of its k maximal subtrees
//   2. scatter   to each rank, owner of a chunk, its chunk of them: k (r-1)/r float64 rows out
//   3. combine   each owner combines all subtrees of its chunk along the tree
//   4. gather    each owner sends its chunk's m2 to the others, and its mean where that is wanted:
//                (r-1)/r float64 rows out
// Scratch is bounded by the block, bits depend neither on it nor on r.

#include <algorithm>

#include "arena/tree.hpp"
#include "comm/exchange_impl.hpp"

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
        : exchange_(exchange), layout_(exchange.layout), x_(x), mean_(mean) {
        const Placement& placement = exchange.placement;
        for (int r = 0; r < placement.ranks; ++r) {
            nodes_.push_back(arena::maximal_subtrees(placement.replicas,
                                                     {placement.begin(r), placement.begin(r + 1)}));
            most_nodes_ = std::max(most_nodes_, static_cast<int64_t>(nodes_.back().size()));
        }
        m2_.resize(layout_.segments().size());
    }

    Spread run() {
        // A segment has at most kBlock columns and as much padding as fills up 64 bytes.
        const bool alone = exchange_.world.size() == 1;
        const int64_t scratch = alone ? kCached : kScratch / most_nodes_;
        const int most = static_cast<int>(std::max<int64_t>(scratch / arena::kBlock, 1));
        const int count = static_cast<int>(m2_.size());
        for (int first = 0; first < count; first += most) {
            const Segments segments{first, std::min(first + most, count)};
            alone ? local_block(segments) : block(segments);
        }
        Spread spread;
        spread.m2.resize(layout_.tensors().size());
        layout_.sum_segments(m2_.data(), spread.m2.data());
        spread.bytes = bytes_;
        return spread;
    }

private:
    // A row of means of some columns and the m2 of their segments, in scratch.
    struct Partial {
        std::shared_ptr<char> mean, m2;
        arena::Interval interval;
        double* mean_at(int64_t column) const {
            return reinterpret_cast<double*>(mean.get()) - column;
        }
        double* m2_at(int segment) const { return reinterpret_cast<double*>(m2.get()) - segment; }
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
        return {exchange_.pool->take(columns(s).count() * 8), exchange_.pool->take(s.count() * 8),
                interval};
    }

    void local_block(Segments segments) {
        const Columns range = columns(segments);
        const Partial scratch = mean_ ? Partial{} : take(segments, {});
        arena::tree_moments(layout_, exchange_.placement.replicas, x_, nodes_[0], range,
                            mean_ ? mean_ : scratch.mean_at(range.begin), m2_.data());
    }

    void block(Segments segments) {
        const int me = exchange_.world.rank(), ranks = exchange_.world.size();
        const Segments mine = chunk(segments, me);
        tag_ = exchange_.world.next_exchange();

        std::vector<std::vector<Partial>> partials(static_cast<size_t>(ranks));
        for (const arena::Interval node : nodes_[me]) {
            Partial partial = take(segments, node);
            const Columns all = columns(segments);
            arena::tree_moments(layout_, exchange_.placement.replicas, x_, {&node, 1}, all,
                                partial.mean_at(all.begin), partial.m2_at(segments.begin));
            partials[me].push_back(std::move(partial));
        }
        std::vector<Message> out, in;
        for (int r = 0; r < ranks; ++r) {
            if (r == me) continue;
            for (const Partial& partial : partials[me]) {
                add(out, r, chunk(segments, r), partial.mean_at(columns(segments).begin),
                    partial.m2_at(segments.begin));
            }
            for (const arena::Interval node : nodes_[r]) {
                partials[r].push_back(take(mine, node));
                add(in, r, mine, partials[r].back().mean_at(columns(mine).begin),
                    partials[r].back().m2_at(mine.begin));
            }
        }
        move(out, in);
        combine(partials, segments, mine);
        for (int r = 0; r < ranks; ++r) {
            if (r == me) continue;
            add(out, r, mine, mean_, m2_.data());
            add(in, r, chunk(segments, r), mean_, m2_.data());
        }
        move(out, in);
    }

    void combine(const std::vector<std::vector<Partial>>& partials, Segments segments,
                 Segments mine) {
        if (mine.count() == 0) return;
        const int me = exchange_.world.rank();
        std::vector<arena::Moments> parts;
        for (size_t r = 0; r < partials.size(); ++r) {
            const Segments held = static_cast<int>(r) == me ? segments : mine;
            for (const Partial& partial : partials[r]) {
                parts.push_back({partial.interval, partial.mean_at(columns(held).begin),
                                 partial.m2_at(held.begin)});
            }
        }
        const Columns range = columns(mine);
        const Partial scratch = mean_ ? Partial{} : take(mine, {});
        arena::combine_moments(layout_, exchange_.placement.replicas, parts, range,
                               mean_ ? mean_ : scratch.mean_at(range.begin), m2_.data());
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
        exchange_.world.move("the reduction of moments", exchange_.world.rows(), out, in);
        out.clear();
        in.clear();
    }

    Exchange::Impl& exchange_;
    const arena::Layout& layout_;
    arena::Rows x_;
    double* mean_;                                     // row [P], or null
    std::vector<std::vector<arena::Interval>> nodes_;  // per rank
    int64_t most_nodes_ = 1;
    std::vector<double> m2_;  // per segment [S]
    int tag_ = 0;
    uint64_t bytes_ = 0;
};

}  // namespace

Spread Exchange::moments(arena::Rows x, double* mean) { return MomentsPass(*impl_, x, mean).run(); }

}  // namespace dbench::comm
