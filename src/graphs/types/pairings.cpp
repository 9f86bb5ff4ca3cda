// Sequences of perfect matchings in a fixed order, weight 1/2; n must be even.
//
//     alternating_ring   (0,1), (2,3), ... and (1,2), ..., (n-1,0) in turn ("ring" in Decent-DP)
//     shift_one          round t: i < n/2 with ((t + i) mod n/2) + n/2 (Bagua's shift_one)

#include <algorithm>

#include "graphs/types/families.hpp"
#include "graphs/types/matching.hpp"

namespace dbench::graphs {
namespace {

void expect_even(const std::string& name, int n, const std::string& pointer) {
    const auto even = [](int64_t v) { return v % 2 == 0; };
    if (n > 1 && !even(n)) refuse_size(name, "n must be even", n, even, pointer);
}

// Round 0 pairs (0,1), (2,3), ...; round 1 pairs (1,2), ..., (n-1,0).
std::unique_ptr<Schedule> make_alternating(const LazySpec& spec, const GraphContext& context,
                                           const std::string& pointer) {
    const int n = context.n;
    expect_even("alternating_ring", n, pointer);
    std::vector<MatrixPtr> matrices;
    for (int first = 0; first < (n == 2 ? 1 : 2); ++first) {
        const auto partner = [n, first](int i) {
            if (n == 1) return i;
            return i % 2 == first ? (i + 1) % n : (i + n - 1) % n;
        };
        matrices.push_back(apply_lazy(matching_matrix(n, partner), spec));
    }
    return cyclic_schedule(std::move(matrices));
}

// Pairs i < n/2 with ((t + i) mod n/2) + n/2. After n/2 rounds every replica has met the whole
// other half.
std::unique_ptr<Schedule> make_shift(const LazySpec& spec, const GraphContext& context,
                                     const std::string& pointer) {
    const int n = context.n;
    expect_even("shift_one", n, pointer);
    const int half = n / 2;
    std::vector<MatrixPtr> matrices;
    for (int t = 0; t < std::max(1, half); ++t) {
        const auto partner = [half, t](int i) {
            if (half == 0) return i;
            return i < half ? (t + i) % half + half : (i - half + half - t) % half;
        };
        matrices.push_back(apply_lazy(matching_matrix(n, partner), spec));
    }
    return cyclic_schedule(std::move(matrices));
}

}  // namespace

GraphEntry alternating_ring_entry() {
    return {"alternating_ring", "the two perfect matchings of a ring in turn; n even",
            make_alternating};
}

GraphEntry shift_one_entry() {
    return {"shift_one", "i < n/2 with ((t + i) mod n/2) + n/2; n even", make_shift};
}

}  // namespace dbench::graphs
