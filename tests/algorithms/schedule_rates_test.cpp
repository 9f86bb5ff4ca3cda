// Tests of learning rates against the formulas of docs/numerics.md, and of durations.

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/learning_rates/learning_rate.hpp"
#include "base/duration.hpp"
#include "base/error.hpp"
#include "catch.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

const base::RunLength kRun{100, 10, 512};  // T, L, global batch

LearningRate rate(const std::string& spec, double lr = 0.4) {
    return {resolve_schedule(base::Json::parse(spec), "/schedule"), lr, kRun};
}

int64_t iterations(const std::string& duration) {
    return to_iterations(base::Json::parse(duration), kRun);
}

std::string refusal_schedule_rates(const std::string& spec) {
    try {
        resolve_schedule(base::Json::parse(spec), "/schedule");
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("the constant schedule never changes the rate") {
    const auto lr = rate(R"("constant")");
    CHECK(lr.at(0) == 0.4);
    CHECK(lr.at(99) == 0.4);
}

TEST_CASE("multistep changes the rate in the first iteration of a milestone epoch") {
    const auto lr = rate(R"({"type": "multistep", "milestones": [3, 5], "gamma": 0.5})");
    CHECK(lr.at(29) == 0.4);
    CHECK(lr.at(30) == Approx(0.2));
    CHECK(lr.at(49) == Approx(0.2));
    CHECK(lr.at(50) == Approx(0.1));
    CHECK(lr.at(99) == Approx(0.1));
    CHECK(rate(R"({"type": "multistep", "milestones": [1]})").at(10) == Approx(0.04));
}

TEST_CASE("cosine falls from the rate to lr_min") {
    const auto lr = rate(R"({"type": "cosine", "lr_min": 0.1})");
    CHECK(lr.at(0) == Approx(0.4));
    CHECK(lr.at(50) == Approx(0.25));
    CHECK(lr.at(99) == Approx(0.1 + 0.3 * (1 + std::cos(M_PI * 0.99)) / 2));
}

TEST_CASE("exponential falls by the same factor in every iteration after the warm-up") {
    const auto lr = rate(R"({"type": "exponential", "decay": 0.02})");
    CHECK(lr.at(0) == 0.4);
    CHECK(lr.at(50) == Approx(0.4 * std::exp(-1.0)));
    CHECK(rate(R"("exponential")").at(10) == Approx(0.4 * std::exp(-0.7)));
    const auto warm = rate(R"({"type": "exponential", "warmup": {"epochs": 2}})");
    CHECK(warm.at(9) == Approx(0.2));
    CHECK(warm.at(20) == 0.4);
    CHECK(warm.at(21) == Approx(0.4 * std::exp(-0.07)));
}

TEST_CASE("warm-up grows to the rate in U iterations, then the schedule runs") {
    const auto lr = rate(R"({"type": "cosine", "warmup": {"epochs": 2}})");
    CHECK(lr.at(0) == Approx(0.4 / 20));
    CHECK(lr.at(9) == Approx(0.4 / 2));
    CHECK(lr.at(19) == Approx(0.4));
    CHECK(lr.at(20) == Approx(0.4));
    CHECK(lr.at(60) == Approx(0.2));

    const auto whole = rate(R"({"type": "cosine", "warmup": {"epochs": 10}})");
    CHECK(whole.at(99) == Approx(0.4));
    const auto longer = rate(R"({"type": "constant", "warmup": {"iterations": 400}})");
    CHECK(longer.at(99) == Approx(0.1));
}

TEST_CASE("a warm-up can start at a part of the rate") {
    const auto lr = rate(R"({"type": "constant", "warmup": {"epochs": 2}, "warmup_from": 0.25})");
    CHECK(lr.at(0) == Approx(0.1 + 0.3 / 20));
    CHECK(lr.at(9) == Approx(0.1 + 0.3 / 2));
    CHECK(lr.at(19) == Approx(0.4));
    CHECK(rate(R"({"type": "constant", "warmup": {"epochs": 2}, "warmup_from": 1})").at(0) == 0.4);
}

TEST_CASE("inverse_sqrt is the Transformer's schedule, whose peak is the rate") {
    const double warm = 20;
    const auto lr = rate(R"({"type": "inverse_sqrt", "warmup": {"iterations": 20}})");
    for (const int64_t t : {0, 3, 18, 19, 20, 50, 99}) {
        const auto step = static_cast<double>(t + 1);
        const double vaswani = std::min(1 / std::sqrt(step), step * std::pow(warm, -1.5));
        CHECK(lr.at(t) == Approx(0.4 * vaswani * std::sqrt(warm)));
    }
    CHECK(rate(R"("inverse_sqrt")").at(99) == Approx(0.04));
}

TEST_CASE("the rate scales with the global batch, lr_min does not") {
    CHECK(rate(R"({"type": "constant", "scale": {"rule": "linear"}})").base() == Approx(0.8));
    CHECK(rate(R"({"type": "constant", "scale": {"rule": "sqrt"}})").at(5) ==
          Approx(0.4 * std::sqrt(2)));
    CHECK(
        rate(R"({"type": "constant", "scale": {"rule": "linear", "reference_batch": 64}})").at(0) ==
        Approx(3.2));
    const auto lr = rate(R"({"type": "cosine", "lr_min": 0.1, "scale": {"rule": "linear"}})");
    CHECK(lr.at(50) == Approx((0.8 + 0.1) / 2));
}

TEST_CASE("durations are rounded up to whole iterations") {
    CHECK(iterations(R"({"epochs": 2})") == 20);
    CHECK(iterations(R"({"epochs": 0.25})") == 3);
    CHECK(iterations(R"({"epochs": 0})") == 0);
    CHECK(iterations(R"({"epochs": 0.1})") == 1);
    CHECK(base::to_iterations(base::Json::parse(R"({"epochs": 0.1})"), {100, 30, 1}) == 3);
    CHECK(iterations(R"({"iterations": 7})") == 7);
    CHECK(iterations(R"({"samples": 512})") == 1);
    CHECK(iterations(R"({"samples": 513})") == 2);
    CHECK(iterations(R"({"epochs": 1e300})") > int64_t{1} << 40);
}

TEST_CASE("the largest rate and the first zero match a search over the whole run") {
    for (const char* spec : {
             R"("constant")",
             R"({"type": "constant", "warmup": {"iterations": 400}})",
             R"({"type": "multistep", "milestones": [9, 3, 5, 200], "gamma": 0.5})",
             R"({"type": "multistep", "milestones": [3, 7], "gamma": 3})",
             R"({"type": "multistep", "milestones": [3, 7], "gamma": 0})",
             R"({"type": "multistep", "milestones": [0, 1, 4], "gamma": 1.5,
                 "warmup": {"iterations": 35}})",
             R"({"type": "cosine"})",
             R"({"type": "cosine", "lr_min": 2})",
             R"({"type": "cosine", "lr_min": 2, "warmup": {"iterations": 17}})",
             R"({"type": "cosine", "warmup": {"epochs": 10}})",
             R"({"type": "exponential", "decay": 0.5, "warmup": {"iterations": 7}})",
             R"({"type": "exponential", "decay": 30})",
             R"({"type": "inverse_sqrt", "warmup": {"iterations": 30}, "warmup_from": 0.5})",
             R"("inverse_sqrt")",
         }) {
        for (const double lr : {0.4, 0.0}) {
            CAPTURE(spec, lr);
            const LearningRate rates = rate(spec, lr);
            double most = 0;
            int64_t zero = -1;
            for (int64_t t = 0; t < kRun.iterations; ++t) {
                most = std::max(most, rates.at(t));
                if (zero < 0 && rates.at(t) == 0) zero = t;
            }
            CHECK(rates.largest() == most);
            CHECK(rates.first_zero() == zero);
        }
    }
    // Near the end of a very long cosine the rate is 0 in double precision.
    const LearningRate rates(resolve_schedule("cosine", "/schedule"), 0.1,
                             {1'000'000'000'000, 1, 1});
    const int64_t zero = rates.first_zero();
    CHECK(rates.at(zero) == 0);
    CHECK(rates.at(zero - 1) > 0);
}

TEST_CASE("invalid schedules are refused") {
    CHECK_THAT(refusal_schedule_rates(R"("multistep")"), ContainsSubstring("/schedule/milestones"));
    CHECK_THAT(refusal_schedule_rates(R"({"type": "multistep", "milestones": [1, 2.5]})"),
               ContainsSubstring("/schedule/milestones/1"));
    CHECK_THAT(refusal_schedule_rates(R"({"type": "constant", "scale": {"rule": "square"}})"),
               ContainsSubstring("/schedule/scale/rule"));
    CHECK_THAT(refusal_schedule_rates(R"({"type": "constant", "warmup": {"epoch": 1}})"),
               ContainsSubstring("epochs"));
    CHECK_THAT(refusal_schedule_rates(R"({"type": "constant", "warmup_from": 1.5})"),
               ContainsSubstring("/schedule/warmup_from"));
    CHECK_THAT(refusal_schedule_rates(R"("cosin")"), ContainsSubstring("cosine"));
}

TEST_CASE("a schedule warns of what the run ends before") {
    const auto warnings = [](const std::string& spec) { return rate(spec).warnings(); };
    CHECK(warnings(R"({"type": "multistep", "milestones": [3, 9], "warmup": {"epochs": 10}})")
              .empty());
    const auto late = warnings(R"({"type": "multistep", "milestones": [3, 10, 1e300]})");
    REQUIRE(late.size() == 1);
    CHECK_THAT(late[0], ContainsSubstring("epoch 10, 1e+300 is never reached"));
    const auto slow = warnings(R"({"type": "cosine", "warmup": {"iterations": 101}})");
    REQUIRE(slow.size() == 1);
    CHECK_THAT(slow[0], ContainsSubstring("/schedule/warmup: takes 101 iterations"));
}
