#pragma once
// How well a minibatch's logits and labels agree, and its loss, as numbers that the host reads: in
// one launch, where LibTorch's operations are twenty.

#include <cstdint>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Parts of as many terms each: a minibatch, or those of several replicas.
struct Outputs {
    const void* logits;  ///< [parts, terms, classes], at distances in elements
    int64_t parts, terms, classes;
    int64_t part_stride, term_stride, class_stride;
    const int64_t* labels;  ///< [parts, terms]; null: real targets
    const void* losses;     ///< [parts], means; of the type of the logits
    DType type;
};
/// Terms of so many classes at most: more are work for many threads each.
inline constexpr int64_t kMostScoredClasses = 1024;

/// loss[p] = share * losses[p]; accuracy[p] = the number of labels whose logits are the largest (of
/// equal ones the first class wins; a label's NaN loses, another's wins), over `all_terms`: NaN
/// without labels. Added to what stands there where `adds`.
void score(const Outputs& outputs, double share, double all_terms, bool adds, double* loss,
           double* accuracy, Queue* queue = nullptr);

}  // namespace dbench::arena
