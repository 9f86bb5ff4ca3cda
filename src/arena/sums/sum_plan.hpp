#pragma once
// The plan of weighted sums: the terms as arrays for kernels.

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "arena/kernels.hpp"
#include "arena/sums/weighted_sums_kernel.hpp"
#include "base/error.hpp"

namespace dbench::arena {

/// The terms of all outputs, one after another, in the element type.
template <class T>
struct SumPlan {
    std::vector<const T*> rows;
    std::vector<T> weights;
    std::vector<int64_t> first;      // Index of output i's first term; one more entry at the end.
    std::vector<const T*> distinct;  // Source rows in the order of their first use.
    std::vector<int32_t> which;      // Index in `distinct` of each term.
    bool in_place = false;           // True if an output is also a source.

    SumPlan(std::span<const std::vector<Term>> terms, const Rows& out, SumForm form) {
        std::unordered_map<const void*, int32_t> seen;
        for (const std::vector<Term>& sum : terms) {
            DBENCH_EXPECT(form == SumForm::sum || !sum.empty());
            first.push_back(static_cast<int64_t>(rows.size()));
            double total = 0;
            for (const Term& term : sum) {
                rows.push_back(static_cast<const T*>(term.row));
                weights.push_back(static_cast<T>(term.weight));
                total += term.weight;
                const auto [at, added] =
                    seen.try_emplace(term.row, static_cast<int32_t>(distinct.size()));
                if (added) distinct.push_back(rows.back());
                which.push_back(at->second);
            }
            if (form == SumForm::mean) weights[first.back()] = static_cast<T>(exact_total(total));
        }
        first.push_back(static_cast<int64_t>(rows.size()));
        for (int64_t i = 0; i < out.count; ++i) in_place |= seen.contains(out.row<T>(i));
    }

    /// Returns true if column `column` of every row is at a multiple of `bytes` bytes.
    bool aligned(const Rows& out, int64_t column, int64_t bytes) const {
        const auto off = [&](const T* row) {
            return reinterpret_cast<uintptr_t>(row + column) % static_cast<uintptr_t>(bytes) != 0;
        };
        bool aligned = std::none_of(distinct.begin(), distinct.end(), off);
        for (int64_t i = 0; i < out.count; ++i) aligned &= !off(out.row<T>(i));
        return aligned;
    }
    int64_t sources() const { return static_cast<int64_t>(distinct.size()); }
};

/// Chooses how results are stored. Non-temporal stores avoid reading the lines that will be
/// overwritten, but leave nothing in the caches. They are used only if the caches cannot hold the
/// rows until they are read again. `out` must not be a source.
inline SumStore choose_store(const Rows& out, Columns columns) {
    constexpr int64_t kCached = int64_t{16} << 20, kPiece = int64_t{1} << 20;
    const int64_t row = out.count * size_of(out.type);
    const bool large = row * out.stride > kCached && row * columns.count() > kPiece;
    return large ? SumStore::non_temporal : SumStore::direct;
}

}  // namespace dbench::arena
