#include "comm/coded_mixing.hpp"

#include <algorithm>
#include <cstring>

#include "arena/kernels.hpp"
#include "arena/tree.hpp"

namespace dbench::comm {
namespace {

/// Rows of a tile, in the run's precision: rounded local rows, received rows, means of groups, and
/// changes of local rows.
class Tile {
public:
    Tile(const MixingPlan& plan, const CodedInput& in)
        : plan_(plan),
          in_(in),
          own_(0),
          received_(in.x.count),
          means_(received_ + plan.slots),
          changes_(means_ + static_cast<int64_t>(plan.groups.size())),
          width_(std::clamp<int64_t>(kElements / (changes_ + in.x.count) / 64 * 64, 64, 8192)),
          rows_(in.x.type, 0, changes_ + in.x.count, width_) {
        make_terms();
    }

    int64_t width() const { return width_; }

    /// Computes the changes of `columns`, at most width() of them.
    void compute(arena::Columns columns) {
        const arena::DType type = in_.x.type;
        const int64_t count = columns.count(), first = columns.begin - in_.columns.begin;
        for (int64_t i = 0; i < in_.x.count; ++i) {
            arena::quantize(in_.codec, type, in_.x.at(i, columns.begin), row(own_ + i), count);
        }
        for (int64_t s = 0; s < plan_.slots; ++s) {
            const uint16_t* const words = in_.received + s * in_.columns.count() + first;
            arena::decode(in_.codec, type, words, row(received_ + s), count);
        }
        for (size_t g = 0; g < plan_.groups.size(); ++g) mean(g, columns);
        arena::weighted_changes(terms_, changes(), {0, count});
    }

    /// Rows of changes; column 0 is the first that was computed.
    arena::Rows changes() const {
        return {row(changes_), in_.x.type, in_.x.space, in_.x.first, in_.x.count, width_};
    }

private:
    static constexpr int64_t kElements = 1 << 16;  // of all rows: some 256 KiB

    void* row(int64_t index) const { return rows_.rows().at(index, 0); }

    void mean(size_t g, arena::Columns columns) {
        const GroupPlan& group = plan_.groups[g];
        void* const to = row(means_ + static_cast<int64_t>(g));
        const int64_t size = arena::size_of(in_.x.type);
        if (in_.group_means[g]) {
            const char* const from = static_cast<const char*>(in_.group_means[g]);
            std::memcpy(to, from + columns.begin * size,
                        static_cast<size_t>(columns.count() * size));
            return;
        }
        std::vector<arena::Summand> leaves;
        for (int64_t p = 0; p < group.members; ++p) {
            leaves.push_back({{p, p + 1}, row(own_ + group.rows[p])});
        }
        arena::tree_mean(in_.x.type, group.members, leaves, to, {0, columns.count()});
    }

    // Differences are taken from the replica's own rounded row, which needs no weight for that.
    void make_terms() {
        terms_.resize(static_cast<size_t>(in_.x.count));
        for (int64_t i = 0; i < in_.x.count; ++i) {
            terms_[i].push_back({row(own_ + i), 0.0});
            for (const Source& source : plan_.terms[i]) {
                if (!source.received && source.index == i) continue;
                const int64_t from = source.received ? received_ : own_;
                terms_[i].push_back({row(from + source.index), source.weight});
            }
        }
        for (size_t g = 0; g < plan_.groups.size(); ++g) {
            for (const int64_t i : plan_.groups[g].rows) {
                terms_[i].push_back({row(means_ + static_cast<int64_t>(g)), 1.0});
            }
        }
    }

    const MixingPlan& plan_;
    const CodedInput& in_;
    int64_t own_, received_, means_, changes_;  // first row of each kind
    int64_t width_;
    arena::Buffer rows_;
    std::vector<std::vector<arena::Term>> terms_;
};

}  // namespace

void mix_coded(const MixingPlan& plan, const CodedInput& in, arena::Rows out, bool change) {
    Tile tile(plan, in);
    for (int64_t begin = in.columns.begin; begin < in.columns.end; begin += tile.width()) {
        const arena::Columns columns{begin, std::min(begin + tile.width(), in.columns.end)};
        tile.compute(columns);
        const arena::Rows changes = tile.changes();
        arena::Rows here = out;
        here.data = out.at(0, begin);
        std::vector<std::vector<arena::Term>> sums(static_cast<size_t>(out.count));
        for (int64_t i = 0; i < out.count; ++i) {
            if (!change) sums[i].push_back({in.x.at(i, begin), 1.0});
            sums[i].push_back({changes.at(i, 0), 1.0});
        }
        arena::weighted_sums(sums, here, {0, columns.count()});
    }
}

}  // namespace dbench::comm
