// Tests of an update and a mixing in one pass: it gives the bits of the separate kernels, and reads
// and writes each element once.

#include "arena/updates/update_and_mix.hpp"

#include <map>

#include "arena/emulated_device.hpp"
#include "arena/random_rows.hpp"
#include "arena/tree.hpp"
#include "arena/updates/sgd_kernel.hpp"
#include "arena/updates/update.hpp"
#include "arena/updates/update_and_mix_kernel.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

constexpr MixOrder kAtc = MixOrder::adapt_then_combine, kAwc = MixOrder::combine_while_adapt;

using Groups = std::vector<std::vector<int64_t>>;
struct Graph {
    std::vector<std::vector<LocalTerm>> terms;
    Groups groups = {};
};

/// Each row has `degree` neighbours, with weights that are not exact in any element type.
Graph ring(int64_t rows, int64_t degree) {
    Graph graph;
    for (int64_t i = 0; i < rows; ++i) {
        std::vector<LocalTerm>& terms = graph.terms.emplace_back();
        terms.push_back({i, 1});
        for (int64_t k = 1; k <= std::min(degree, rows - 1); ++k) {
            terms.push_back({(i + k) % rows, 1.0 / static_cast<double>(degree + k + 2)});
            terms[0].weight -= terms.back().weight;
        }
    }
    return graph;
}

/// complete: all rows are one group. pairs_and_others: the first rows form groups of two, in
/// another order; the other rows form a ring with two terms each.
Graph complete(int64_t rows) {
    Graph graph{std::vector<std::vector<LocalTerm>>(static_cast<size_t>(rows)), Groups(1)};
    for (int64_t i = 0; i < rows; ++i) graph.groups[0].push_back(i);
    return graph;
}
Graph pairs_and_others(int64_t rows) {
    Graph graph{std::vector<std::vector<LocalTerm>>(static_cast<size_t>(rows))};
    const int64_t paired = rows / 4 * 2;
    for (int64_t i = 0; i < paired / 2; ++i) graph.groups.push_back({i, paired - 1 - i});
    for (int64_t i = paired; i < rows; ++i) {
        const int64_t next = i + 1 < rows ? i + 1 : paired;
        graph.terms[i] = {{i, next == i ? 1.0 : 0.7}};
        if (next != i) graph.terms[i].push_back({next, 0.3});
    }
    return graph;
}

struct UpdateAndMixOptions {
    MixOrder order;
    bool adam = false;
    double momentum = 0.9;
    bool nesterov = false, decays = true, updates_measured = false, before_measured = false;
};

struct UpdateAndMixMaterial {
    Layout layout = ragged_layout();
    std::vector<double> decay = {0, 0.1, 0, 0.2, 0.1, 0, 0.3};
    std::vector<Buffer> rows;  // x, gradient, three rows of state, out.
    std::vector<double> updates, before;

    UpdateAndMixMaterial(DType type, int64_t count, bool decays)
        : updates(static_cast<size_t>(count) * layout.segments().size(), -1), before(updates) {
        for (uint64_t k = 0; k < 5; ++k) rows.push_back(random_rows(layout, type, count, k));
        rows.emplace_back(type, 0, count, layout.columns());
        if (!decays) decay.assign(decay.size(), 0);
        for (const size_t moment : {3, 4}) {  // Second moments are not negative.
            with_type(type, [&]<class T>() {
                for (int64_t c = 0; c < count * layout.columns(); ++c) {
                    T& value = rows[moment].rows().row<T>(0)[c];
                    value = value < 0 ? -value : value;
                }
            });
        }
    }
    Rows at(size_t k) const { return rows[k].rows(); }
    Rows out(MixOrder order) const { return order == kAtc ? at(0) : at(5); }
    double* if_measured(bool measured, std::vector<double>& sums) {
        return measured ? sums.data() : nullptr;
    }
    SgdHyperparameters sgd(const UpdateAndMixOptions& how) const {
        return {0.1, how.momentum, how.nesterov, decay};
    }
    AdamHyperparameters adam(const UpdateAndMixOptions& how) const {
        return {0.1, 0.9, 0.99, 1e-8, 4, how.nesterov, decay};
    }
    Rows largest(const UpdateAndMixOptions& how) const {
        return how.momentum != 0 ? at(4) : Rows{};
    }

    void update(const UpdateAndMixOptions& how, Rows out, Rows base, Columns columns) {
        double* const sums = if_measured(how.updates_measured, updates);
        if (how.adam) {
            adam_update(layout, out, base, at(0), at(1), at(2), at(3), largest(how), columns,
                        adam(how), sums);
        } else {
            sgd_update(layout, out, base, at(0), at(1), at(2), columns, sgd(how), sums);
        }
    }
    /// Computes W x into `out`.
    void mix(const Graph& graph, Rows out, Columns columns) const {
        std::vector<std::vector<Term>> terms;
        for (const auto& row : graph.terms) {
            terms.emplace_back();
            for (const LocalTerm& term : row)
                terms.back().push_back({at(0).at(term.row, 0), term.weight});
        }
        for (const auto& group : graph.groups) {
            std::vector<Summand> leaves;
            for (const int64_t row : group) {
                const auto p = static_cast<int64_t>(leaves.size());
                leaves.push_back({{p, p + 1}, at(0).at(row, 0)});
            }
            const Rows mean = out.only(group[0]);
            tree_mean(out.type, std::ssize(group), leaves, mean.data, columns);
            for (const int64_t row : group) {
                copy(mean, out.only(row), columns);
                terms[row] = {{out.at(row, 0), 1.0}};
            }
        }
        weighted_means(terms, out, columns);
    }
    void separately(const UpdateAndMixOptions& how, const Graph& graph, Columns columns) {
        if (how.order == kAtc) update(how, at(0), at(0), columns);
        if (how.before_measured) squares(layout, at(0), columns, before.data());
        mix(graph, out(how.order), columns);
        if (how.order == kAwc) update(how, at(5), at(5), columns);
    }
    void at_once(const UpdateAndMixOptions& how, const Graph& graph, Columns columns,
                 Queue& queue) {
        const LocalMeans means(graph.terms, graph.groups);
        const Mixing mixing{means, how.order, if_measured(how.before_measured, before)};
        double* const sums = if_measured(how.updates_measured, updates);
        if (how.adam) {
            adam_update_and_mix(layout, out(how.order), at(0), at(1), at(2), at(3), largest(how),
                                columns, adam(how), sums, mixing, queue);
        } else {
            sgd_update_and_mix(layout, out(how.order), at(0), at(1), at(2), columns, sgd(how), sums,
                               mixing, queue);
        }
    }
    bool operator==(const UpdateAndMixMaterial& other) const {
        bool same = updates == other.updates && before == other.before;
        for (size_t k = 0; k < rows.size(); ++k) same &= same_bits(at(k), other.at(k));
        return same;
    }
};

bool update_and_mix_same_both_ways(DType type, const UpdateAndMixOptions& how, const Graph& graph,
                                   const std::vector<Columns>& ranges, bool queued) {
    const auto rows = std::ssize(graph.terms);
    UpdateAndMixMaterial separate(type, rows, how.decays), together(type, rows, how.decays);
    EmulatedDevice device(static_cast<uint64_t>(rows));
    Queue& queue = queued ? device.add_queue() : host_queue();
    for (const Columns columns : ranges) {
        separate.separately(how, graph, columns);
        together.at_once(how, graph, columns, queue);
        device.finish();
    }
    return together == separate && device.conflicts().empty();
}

TEST_CASE("an update and a mixing in one pass give the bits of two passes") {
    const std::vector<Columns> all = {ragged_layout().all()};
    for (int64_t rows = 1; rows <= 17; ++rows) {
        const UpdateAndMixOptions how{rows % 2 == 0 ? kAtc : kAwc,
                                      rows % 3 == 0,
                                      rows % 4 == 0 ? 0 : 0.9,
                                      rows % 5 < 2,
                                      rows % 7 < 4,
                                      rows % 4 < 2,
                                      rows % 3 < 2};
        const DType type = rows % 4 < 2 ? DType::float32 : DType::float64;
        INFO(rows << " rows");
        CHECK(update_and_mix_same_both_ways(type, how, ring(rows, 2), all, true));
        CHECK(update_and_mix_same_both_ways(type, how, complete(rows), all, true));
        CHECK(update_and_mix_same_both_ways(type, how, pairs_and_others(rows), all, true));
    }
    CHECK(update_and_mix_same_both_ways(DType::float32, {kAtc}, ring(17, 16), all, true));
    CHECK(update_and_mix_same_both_ways(DType::float64, {kAwc}, ring(12, 9), all, true));
}

TEST_CASE("one pass gives the bits of two passes for every rule, with and without squares") {
    const std::vector<Columns> all = {ragged_layout().all()};
    for (int k = 0; k < 64; ++k) {
        const UpdateAndMixOptions how{k & 1 ? kAtc : kAwc, (k & 2) != 0,  k & 4 ? 0.9 : 0,
                                      (k & 8) != 0,        (k & 16) != 0, (k & 32) != 0,
                                      (k & 32) != 0};
        INFO("rule " << k);
        CHECK(update_and_mix_same_both_ways(k % 3 ? DType::float32 : DType::float64, how,
                                            ring(3, 1), all, k % 4 == 1));
    }
}

TEST_CASE("one pass does not depend on the ranges of columns") {
    for (const MixOrder order : {kAtc, kAwc}) {
        const Layout layout = ragged_layout();
        CHECK(update_and_mix_same_both_ways(DType::float32, {order}, ring(5, 2), cut_up(layout),
                                            true));
        CHECK(update_and_mix_same_both_ways(DType::float32,
                                            {order, false, 0.9, true, true, true, true}, ring(5, 2),
                                            cut_at_segments(layout), true));
    }
}

TEST_CASE("tiles fit in a block's scratch memory up to the maximum number of rows") {
    CHECK(mixing_width(DType::float32, 16, kAtc, false) == 512);
    CHECK(mixing_width(DType::float32, 16, kAwc, false) == 256);
    CHECK(mixing_width(DType::float32, 1008, kAtc, false) == 16);
    CHECK(mixing_width(DType::float32, 1008, kAwc, false) == 0);
    CHECK(mixing_width(DType::float32, 16, kAtc, true) >= 256);
    CHECK(mixing_width(DType::float32, 1008, kAtc, true) == 0);
}

/// A number that counts how often it is read and written in its original memory.
struct Counted {
    struct Uses {
        int reads = 0, writes = 0;
    };
    static inline std::map<const Counted*, Uses> uses;  // Only for numbers in rows.
    static inline bool counts = false;

    float value = 0;
    static void count(const Counted* at, int Uses::*what) {
        if (!counts) return;
        if (const auto use = uses.find(at); use != uses.end()) ++(use->second.*what);
    }
    float read() const {
        count(this, &Uses::reads);
        return value;
    }
    Counted() = default;
    Counted(double x) : value(static_cast<float>(x)) {}
    Counted(const Counted& other) : value(other.read()) {}
    Counted& operator=(const Counted& other) {
        value = other.read();
        count(this, &Uses::writes);
        return *this;
    }
    Counted& operator+=(const Counted& other) { return *this = Counted(read() + other.read()); }
    operator double() const { return read(); }
    friend Counted operator+(const Counted& a, const Counted& b) { return a.read() + b.read(); }
    friend Counted operator-(const Counted& a, const Counted& b) { return a.read() - b.read(); }
    friend Counted operator*(const Counted& a, const Counted& b) { return a.read() * b.read(); }
};

}  // namespace
#if DBENCH_CUDA
/// Never called; only the linker needs it.
template <>
void on_device(const UpdateAndMix<Counted, Sgd<Counted>>&, CUstream_st*) {}
#endif
namespace {

TEST_CASE("one pass reads each element once and writes each changed element once") {
    constexpr int64_t kRows = 3;
    Layout layout;
    layout.add("a", {kBlock + 100}, TensorKind::weight);
    layout.add("b", {20}, TensorKind::bias);
    const ReadOnlyArray<double> decay(std::vector<double>{0.1, 0});
    const Graph graph = GENERATE(ring(kRows, 2), complete(kRows));
    const MixOrder order = GENERATE(kAtc, kAwc);
    const bool measured = GENERATE(false, true);
    std::vector<double> sums(kRows * layout.segments().size());
    std::vector<Buffer> rows;  // x, gradient, velocity, out.
    for (int k = 0; k < 4; ++k) rows.emplace_back(DType::float32, 0, kRows, layout.columns());
    const auto at = [&](size_t k) { return rows[k].rows(); };
    Counted::uses.clear();
    for (size_t k = 0; k < 4; ++k) {
        for (int64_t i = 0; i < kRows; ++i) {
            for (const Segment& s : layout.segments()) {
                for (int64_t c = s.begin; c < s.end; ++c) {
                    Counted::uses[at(k).row<Counted>(i) + c] = {};
                }
            }
        }
    }
    const Sgd<Counted> update{.grid = SegmentGrid(layout, kRows, layout.all(),
                                                  measured ? sums.data() : nullptr, host_queue()),
                              .out = order == kAtc ? at(0) : at(3),
                              .base = at(0),
                              .at = at(0),
                              .gradient = at(1),
                              .velocity = at(2),
                              .lr = 0.1,
                              .momentum = 0.9,
                              .nesterov = true,
                              .decay = decay.on(host_queue())};
    Counted::counts = true;
    launch_and_mix<Counted>(host_queue(), "counted", layout, update, {at(2)},
                            {LocalMeans(graph.terms, graph.groups), order});
    Counted::counts = false;
    const auto all = [&](size_t k, int reads, int writes) {
        for (int64_t i = 0; i < kRows; ++i) {
            for (const Segment& s : layout.segments()) {
                for (int64_t c = s.begin; c < s.end; ++c) {
                    const Counted::Uses found = Counted::uses[at(k).row<Counted>(i) + c];
                    if (found.reads != reads || found.writes != writes) return false;
                }
            }
        }
        return true;
    };
    CHECK(all(0, 1, order == kAtc ? 1 : 0));
    CHECK(all(1, 1, 0));
    CHECK(all(2, 1, 1));
    CHECK(all(3, 0, order == kAtc ? 0 : 1));
}

}  // namespace
}  // namespace dbench::arena
