// Tests of losses and accuracies of outputs in one launch.

#include "arena/passes/scores.hpp"

#include <cmath>
#include <limits>

#include "arena/emulated_device.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Two minibatches of `n` terms with three classes.
template <class T>
struct Scored {
    int64_t terms;
    std::vector<T> logits, losses = {T{0.5}, T{-2}};
    std::vector<int64_t> labels;
    double loss[2] = {1, 1}, accuracy[2] = {1, 1};

    explicit Scored(int64_t n) : terms(n), logits(static_cast<size_t>(6 * n)) {
        for (int64_t k = 0; k < 2 * n; ++k) labels.push_back(k % 3);
    }
    T& logit(int64_t minibatch, int64_t term, int64_t c) {
        return logits[static_cast<size_t>((minibatch * terms + term) * 3 + c)];
    }
    Outputs outputs() const {
        return {logits.data(),
                2,
                terms,
                3,
                3 * terms,
                3,
                1,
                labels.data(),
                losses.data(),
                sizeof(T) == 4 ? DType::float32 : DType::float64};
    }
};

TEMPLATE_TEST_CASE("labels with the largest logit are counted", "", float, double) {
    using T = TestType;
    const int64_t terms = GENERATE(1, 5, 40, 2500);
    const bool device = GENERATE(false, true);
    Scored<T> s(terms);
    double right[2] = {};
    for (int64_t minibatch = 0; minibatch < 2; ++minibatch) {
        for (int64_t k = 0; k < terms; ++k) {
            const int64_t label = s.labels[static_cast<size_t>(minibatch * terms + k)];
            const bool found = (k * (minibatch + 2)) % 5 < 2;
            for (int64_t c = 0; c < 3; ++c) s.logit(minibatch, k, c) = static_cast<T>(c == label);
            if (!found) s.logit(minibatch, k, (label + 1) % 3) = T{2};
            right[minibatch] += found;
        }
    }
    EmulatedDevice emulated(5, -1, EmulatedDevice::Pace::random);
    Queue& queue = device ? emulated.add_queue() : host_queue();
    const auto all = static_cast<double>(terms);
    score(s.outputs(), 0.25, all, false, s.loss, s.accuracy, queue);
    emulated.finish();
    for (int minibatch = 0; minibatch < 2; ++minibatch) {
        CHECK(s.loss[minibatch] ==
              0.25 * static_cast<double>(s.losses[static_cast<size_t>(minibatch)]));
        CHECK(s.accuracy[minibatch] == right[minibatch] / all);
    }
    score(s.outputs(), 0.25, all, true, s.loss, s.accuracy, queue);
    emulated.finish();
    CHECK(s.loss[1] == 2 * (0.25 * -2));
    CHECK(s.accuracy[0] == right[0] / all + right[0] / all);
}

TEST_CASE("among equal logits the first class wins, and a NaN beats all") {
    Scored<double> s(4);
    const double rows[8][3] = {{1, 1, 0}, {1, 1, 0}, {0, 1, 1},    {kNan, 0, 0},
                               {0, 1, 1}, {3, 0, 3}, {0, kNan, 0}, {0, 0, 0}};
    s.labels = {0, 1, 1, 0, 2, 0, 2, 0};
    for (int64_t k = 0; k < 8; ++k) {
        for (int64_t c = 0; c < 3; ++c) s.logit(k / 4, k % 4, c) = rows[k][c];
    }
    score(s.outputs(), 1, 4, false, s.loss, s.accuracy);
    CHECK(s.accuracy[0] == 2.0 / 4);  // The first and the third term.
    CHECK(s.accuracy[1] == 2.0 / 4);  // The second and the last term.
}

TEST_CASE("classes may have any stride, and real targets have no accuracy") {
    Scored<float> s(3);
    for (int64_t k = 0; k < 6; ++k) s.labels[static_cast<size_t>(k)] = 2;
    Outputs across = s.outputs();  // [minibatches, classes, terms]
    across.minibatch_stride = 9;
    across.term_stride = 1;
    across.class_stride = 3;
    for (int k = 6; k < 9; ++k) s.logits[static_cast<size_t>(k)] = 1;  // Class 2 of minibatch 0.
    score(across, 1, 3, false, s.loss, s.accuracy);
    CHECK(s.accuracy[0] == 1);
    CHECK(s.accuracy[1] == 0);
    Outputs real = s.outputs();
    real.logits = nullptr;
    real.labels = nullptr;
    score(real, 1, 3, false, s.loss, s.accuracy);
    CHECK(std::isnan(s.accuracy[0]));
    CHECK(s.loss[1] == -2);
}

}  // namespace
}  // namespace dbench::arena
