#pragma once
// The loss and the accuracy of a minibatch as numbers for the host, in one launch instead of
// LibTorch's twenty operations.

#include <cstdint>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// The outputs of one or several minibatches (one per replica) of `terms` terms each.
struct Outputs {
    const void* logits;  ///< [minibatches, terms, classes], with the strides below in elements.
    int64_t minibatches, terms, classes;
    int64_t minibatch_stride, term_stride, class_stride;
    const int64_t* labels;  ///< [minibatches, terms]; null for real targets.
    const void* losses;     ///< [minibatches], means; of the type of the logits.
    DType type;
};
/// Maximum number of classes: more classes would need several threads per term.
inline constexpr int64_t kMaxScoredClasses = 1024;

/// Computes loss[b] = share * losses[b], and accuracy[b] = number of labels with the largest logit,
/// divided by `all_terms`. Among equal logits the first class wins. A NaN logit of the label loses;
/// a NaN logit of another class wins. The accuracy is NaN without labels. Adds to the old values if
/// `adds`.
void score(const Outputs& outputs, double share, double all_terms, bool adds, double* loss,
           double* accuracy, Queue& queue = host_queue());

}  // namespace dbench::arena
