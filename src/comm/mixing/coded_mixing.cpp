#include "comm/mixing/coded_mixing.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace dbench::comm {

CodedMixing::CodedMixing(const MixingPlan& plan, CodedInput in, ScratchPool& pool,
                         arena::Queue& queue)
    : plan_(plan), in_(std::move(in)), pool_(pool), queue_(queue) {
    // Elements of all rows of a tile: fits in a second-level cache.
    constexpr int64_t kElements = 1 << 16;
    const int64_t rows = 2 * in_.x.count + plan.received_rows;
    width_ = std::clamp<int64_t>(kElements / rows / 64 * 64, 64, 8192);
    list_terms();
}

/// A sum starts from the replica's own rounded row in any case, so the replica itself is no term,
/// whether or not W gives it a weight.
void CodedMixing::list_terms() {
    origins_.resize(plan_.terms.size());
    terms_.resize(plan_.terms.size());
    std::set<int64_t> to_encode;
    for (size_t i = 0; i < plan_.terms.size(); ++i) {
        for (const Source& source : plan_.terms[i]) {
            if (!source.received && source.index == static_cast<int64_t>(i)) continue;
            const auto& rows = source.received ? in_.received : in_.own;
            const uint16_t* const row = rows[static_cast<size_t>(source.index)];
            if (!row) to_encode.insert(source.index);
            origins_[i].push_back({row, source.index});
            terms_[i].push_back({nullptr, source.weight});
        }
    }
    to_encode_.assign(to_encode.begin(), to_encode.end());
}

void CodedMixing::mix(arena::Rows out, arena::Columns columns, bool change) {
    if (!queue_.immediate()) width_ = columns.count();
    if (!queue_.immediate() || !words_) {
        if (!to_encode_.empty()) words_ = pool_.take(in_.x.count * width_ * 2);
        if (!plan_.groups.empty()) mean_ = pool_.take(width_ * arena::size_of(in_.x.type));
    }
    for (int64_t begin = columns.begin; begin < columns.end; begin += width_) {
        mix_tile(out, {begin, std::min(begin + width_, columns.end)}, change);
    }
    arena::keep(queue_, words_);
    arena::keep(queue_, mean_);
}

const char* CodedMixing::mean_of(const CodedGroup& group, arena::Columns columns) {
    const int64_t before = columns.begin * arena::size_of(in_.x.type);
    if (group.computed) return group.computed + before;
    if (group.rows.empty()) {
        group.write_mean(mean_.get(), columns);
    } else {
        arena::keep(queue_,
                    coded_tree_mean(in_.codec, in_.x.type, group.rows, mean_.get() - before,
                                    columns, queue_, queue_.immediate() ? nullptr : &pool_));
    }
    return mean_.get();
}

/// Encodes rows before it writes any, because `out` may be x.
void CodedMixing::mix_tile(arena::Rows out, arena::Columns columns, bool change) {
    const arena::Rows x = in_.x;
    const int64_t begin = columns.begin, count = columns.count();
    for (const int64_t row : to_encode_) {
        arena::encode(in_.codec, x.type, x.at(row, begin), tile_words(row), count, queue_);
    }
    std::vector<bool> grouped(static_cast<size_t>(x.count));
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
        const char* const mean = mean_of(in_.groups[g], columns);
        for (const int64_t i : plan_.groups[g].rows) {
            arena::coded_shift(in_.codec, x.type, x.at(i, begin), mean, change, out.at(i, begin),
                               count, queue_);
            grouped[i] = true;
        }
    }
    for (int64_t i = 0; i < x.count; ++i) {
        if (grouped[i]) continue;
        for (size_t k = 0; k < terms_[i].size(); ++k) {
            const Origin& origin = origins_[i][k];
            terms_[i][k].words = origin.row ? origin.row + begin : tile_words(origin.local);
        }
        arena::coded_mean(in_.codec, x.type, x.at(i, begin), terms_[i], change, out.at(i, begin),
                          count, queue_);
    }
}

}  // namespace dbench::comm
