#pragma once
// The kernel body of losses and accuracies of outputs (scores.hpp): a block for each minibatch.

#include <limits>

#include "arena/grid/block.hpp"
#include "arena/passes/scores.hpp"

namespace dbench::arena {

template <class T>
struct Score {
    static constexpr int64_t kTermsPerTile = 1024, kSums = 32;

    Outputs outputs;
    double share, all_terms;
    bool adds;
    double* loss;
    double* accuracy;

    constexpr int64_t blocks() const { return outputs.minibatches; }
    constexpr int64_t scratch_bytes() const {
        return scratch_for<int32_t>(kTermsPerTile) + scratch_for<int64_t>(kSums);
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t minibatch) const {
        const Outputs all = outputs;
        const T* const logits =
            static_cast<const T*>(all.logits) + minibatch * all.minibatch_stride;
        const int64_t* const labels = all.labels ? all.labels + minibatch * all.terms : nullptr;
        int32_t* const right = block.template scratch<int32_t>(kTermsPerTile);
        int64_t* const sums = block.template scratch<int64_t>(kSums);
        block.for_each(kSums, [=](int64_t k) DBENCH_INLINE_LAMBDA { sums[k] = 0; });
        for (int64_t begin = 0; labels && begin < all.terms; begin += kTermsPerTile) {
            const int64_t left = all.terms - begin,
                          here = left < kTermsPerTile ? left : kTermsPerTile;
            block.for_each(here, [=](int64_t k) DBENCH_INLINE_LAMBDA {
                const int64_t term = begin + k;
                right[k] = is_right(logits + term * all.term_stride, all, labels[term]);
            });
            block.for_each(kSums, [=](int64_t j) DBENCH_INLINE_LAMBDA {
                for (int64_t k = j; k < here; k += kSums) sums[j] += right[k];
            });
        }
        const auto of_loss = static_cast<double>(static_cast<const T*>(all.losses)[minibatch]);
        double* const loss_out = loss + minibatch;
        double* const accuracy_out = accuracy + minibatch;
        const double weight = share, whole = all_terms;
        const bool further = adds;
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA {
            int64_t count = 0;
            for (int64_t j = 0; j < kSums; ++j) count += sums[j];
            const double now = weight * of_loss;
            const double correct = labels ? static_cast<double>(count) / whole
                                          : std::numeric_limits<double>::quiet_NaN();
            *loss_out = further ? *loss_out + now : now;
            *accuracy_out = further ? *accuracy_out + correct : correct;
        });
    }

private:
    /// Returns 1 if no logit beats the label's logit: an earlier one that is at least as large, a
    /// later one that is larger, or a NaN.
    static DBENCH_INLINE int32_t is_right(const T* logits, const Outputs& all, int64_t label) {
        const int64_t step = all.class_stride;
        const T own = logits[label * step];
        bool best = own == own;
        for (int64_t c = 0; c < label; ++c) best = best && logits[c * step] < own;
        for (int64_t c = label + 1; c < all.classes; ++c) best = best && logits[c * step] <= own;
        return best;
    }
};

}  // namespace dbench::arena
