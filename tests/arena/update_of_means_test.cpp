// Tests of an update of means: it gives the bits of an averaging followed by an update.

#include "arena/kernels.hpp"
#include "arena/non_temporal.hpp"
#include "arena/random_rows.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

struct UpdateOfMeansOptions {
    DType type = DType::float32;
    bool adam = false, momentum = true, nesterov = false, decays = true, measured = false;
};

/// The rows of an update, and other rows that are averaged with x.
struct UpdateOfMeansMaterial {
    Layout layout;
    UpdateOfMeansOptions how;
    std::vector<double> decay;
    std::vector<Buffer> rows;  // x, gradient, three rows of state, out, other rows.
    std::vector<double> updates;

    UpdateOfMeansMaterial(Layout l, const UpdateOfMeansOptions& h, int64_t count)
        : layout(std::move(l)),
          how(h),
          updates(static_cast<size_t>(count) * layout.segments().size(), -1) {
        for (size_t k = 0; k < layout.tensors().size(); ++k) {
            decay.push_back(h.decays && k % 2 ? 0.1 : 0);
        }
        for (uint64_t k = 0; k < 7; ++k) rows.push_back(random_rows(layout, h.type, count, k));
        for (const size_t moment : {3, 4}) {  // Second moments are not negative.
            with_type(h.type, [&]<class T>() {
                for (int64_t c = 0; c < count * layout.columns(); ++c) {
                    T& value = at(moment).template row<T>(0)[c];
                    value = value < 0 ? -value : value;
                }
            });
        }
    }
    Rows at(size_t k) const { return rows[k].rows(); }
    /// Returns terms for each row: with or without the row itself, and with `others` other rows.
    std::vector<std::vector<Term>> means(int64_t others) const {
        std::vector<std::vector<Term>> all;
        const int64_t count = at(0).count;
        for (int64_t i = 0; i < count; ++i) {
            std::vector<Term>& row = all.emplace_back();
            if (i % 3 < 2 || others == 0) row.push_back({at(0).at(i, 0), 0.3});
            for (int64_t k = 0; k < others; ++k) {
                row.push_back({at(6).at((i + k) % count, 0), 0.7 / static_cast<double>(others)});
            }
        }
        return all;
    }
    SgdHyperparameters sgd() const { return {0.1, how.momentum ? 0.9 : 0, how.nesterov, decay}; }
    AdamHyperparameters adam() const { return {0.1, 0.9, 0.99, 1e-8, 4, how.nesterov, decay}; }
    Rows velocity() const { return how.momentum ? at(2) : Rows{}; }
    Rows largest() const { return how.momentum ? at(4) : Rows{}; }
    double* sums() { return how.measured ? updates.data() : nullptr; }

    void separately(const std::vector<std::vector<Term>>& base, Columns columns) {
        weighted_means(base, at(5), columns);
        if (how.adam) {
            adam_update(layout, at(5), at(5), at(0), at(1), at(2), at(3), largest(), columns,
                        adam(), sums());
        } else {
            sgd_update(layout, at(5), at(5), at(0), at(1), velocity(), columns, sgd(), sums());
        }
    }
    void at_once(const std::vector<std::vector<Term>>& base, Columns columns) {
        if (how.adam) {
            adam_update_of_means(layout, at(5), base, at(0), at(1), at(2), at(3), largest(),
                                 columns, adam(), sums());
        } else {
            sgd_update_of_means(layout, at(5), base, at(0), at(1), velocity(), columns, sgd(),
                                sums());
        }
    }
};

/// Compares both ways; the padding must remain zero.
bool update_of_means_same_both_ways(const Layout& layout, const UpdateOfMeansOptions& how,
                                    int64_t count, int64_t others,
                                    const std::vector<Columns>& ranges) {
    UpdateOfMeansMaterial separate(layout, how, count), together(layout, how, count);
    for (const Columns columns : ranges) {
        separate.separately(separate.means(others), columns);
        together.at_once(together.means(others), columns);
    }
    bool same = separate.updates == together.updates;
    for (size_t k = 0; k < separate.rows.size(); ++k)
        same &= same_bits(separate.at(k), together.at(k));
    return same && !same_bits(together.at(5), together.at(6));
}

TEST_CASE("an update of means gives the bits of means followed by an update") {
    const Layout layout = ragged_layout();
    for (int k = 0; k < 64; ++k) {
        const UpdateOfMeansOptions how{k & 1 ? DType::float32 : DType::float64,
                                       (k & 2) != 0,
                                       (k & 4) != 0,
                                       (k & 8) != 0,
                                       (k & 16) != 0,
                                       (k & 32) != 0};
        INFO("rule " << k);
        CHECK(update_of_means_same_both_ways(layout, how, 1 + k % 3, 1 + k % 4, {layout.all()}));
    }
    for (const int64_t others : {0, 7, 8, 9, 17}) {
        INFO(others << " others");
        CHECK(update_of_means_same_both_ways(layout, {}, 20, others, {layout.all()}));
    }
}

TEST_CASE("an update of means does not depend on the ranges of columns") {
    const Layout layout = ragged_layout();
    CHECK(update_of_means_same_both_ways(layout, {}, 2, 2, cut_up(layout)));
    UpdateOfMeansOptions measured;
    measured.measured = true;
    CHECK(update_of_means_same_both_ways(layout, measured, 2, 2, cut_at_segments(layout)));
}

TEST_CASE("results with non-temporal stores are the same") {
    Layout layout;  // Larger than the 16 MiB up to which plain stores are used.
    layout.add("a", {(int64_t{17} << 20) / 4 + 5}, TensorKind::weight);
    layout.add("b", {3}, TensorKind::bias);
    CHECK(update_of_means_same_both_ways(layout, {}, 1, 2, {layout.all()}));
}

TEST_CASE("non-temporal stores copy any range of bytes") {
    alignas(64) char from[400], to[400];
    for (int k = 0; k < 400; ++k) from[k] = static_cast<char>(k * 7 + 1);
    for (const int64_t begin : {0, 1, 16, 32, 64}) {
        for (const int64_t bytes : {0, 1, 63, 64, 65, 128, 200, 256}) {
            std::fill_n(to, 400, '\0');
            copy_bytes_non_temporal(from + 3, to + begin, bytes);
            non_temporal_fence();
            INFO(bytes << " bytes to " << begin);
            CHECK(std::equal(to + begin, to + begin + bytes, from + 3));
            CHECK(std::count(to, to + begin, '\0') == begin);
            CHECK(std::count(to + begin + bytes, to + 400, '\0') == 400 - begin - bytes);
        }
    }
}

}  // namespace
}  // namespace dbench::arena
