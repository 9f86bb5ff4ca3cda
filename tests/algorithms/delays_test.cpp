// Tests of replica delays: affected replicas, frequency and length.

#include "algorithms/step/delays.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/random.hpp"
#include "catch.hpp"

namespace dbench::algorithms {
namespace {

using base::Json;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

std::vector<DelayRule> rules(const char* text) {
    const auto& section = DelayRule::section();
    std::vector<DelayRule> out;
    const Json list = Json::parse(text);
    for (size_t k = 0; k < list.size(); ++k) {
        const std::string at = "/delays/" + std::to_string(k);
        out.push_back(section.read(base::resolve_object(list[k], at, section.parameters())));
    }
    return out;
}

Delays delays(const char* text, int64_t replicas = 8, uint64_t seed = 1) {
    return {rules(text), replicas, seed};
}

std::string refusal_delays(const char* text) {
    try {
        delays(text);
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "accepted";
}

struct Draws {
    /// `share`: fraction that is not 0.
    double mean = 0, deviation = 0, least = 1e300, most = 0, share = 0;
};

Draws drawn(const Delays& d, int64_t replica, int64_t iterations = 40000) {
    Draws out;
    double squares = 0;
    for (int64_t t = 0; t < iterations; ++t) {
        const double seconds = d.seconds(replica, t);
        out.mean += seconds / static_cast<double>(iterations);
        squares += seconds * seconds / static_cast<double>(iterations);
        out.least = std::min(out.least, seconds);
        out.most = std::max(out.most, seconds);
        out.share += (seconds > 0) / static_cast<double>(iterations);
    }
    out.deviation = std::sqrt(squares - out.mean * out.mean);
    return out;
}

}  // namespace

TEST_CASE("There are no delays without rules") {
    CHECK_FALSE(Delays().any());
    CHECK(Delays().seconds(3, 7) == 0);
    CHECK(Delays().seconds(0, 8, 7) == 0);
    CHECK(Delays().expected(3) == 0);
    CHECK_FALSE(delays("[]").any());
}

TEST_CASE("A constant delay applies to the named replicas in every iteration") {
    const Delays d = delays(R"([{"replicas": [5, 2], "seconds": 0.25}])");
    CHECK(d.any());
    for (int64_t t : {0, 1, 1000}) {
        for (int64_t i = 0; i < 8; ++i) CHECK(d.seconds(i, t) == (i == 2 || i == 5 ? 0.25 : 0));
    }
    CHECK(delays(R"([{"seconds": 0.5}])").seconds(7, 3) == 0.5);
}

TEST_CASE("Delays of several rules, and of replicas that compute one after another, add up") {
    const Delays d =
        delays(R"([{"seconds": 0.5}, {"replicas": [1], "seconds": 2}, {"seconds": 0.25}])");
    CHECK(d.seconds(0, 9) == 0.75);
    CHECK(d.seconds(1, 9) == 2.75);
    CHECK(d.seconds(0, 3, 9) == 0.75 + 2.75 + 0.75);
    CHECK(d.expected(1) == 2.75);
}

TEST_CASE("Delays have the mean, the spread and the probability of their rule") {
    const Draws exponential =
        drawn(delays(R"([{"seconds": 2, "distribution": "exponential"}])"), 3);
    CHECK_THAT(exponential.mean, WithinAbs(2, 0.04));  // four standard deviations of the mean
    CHECK_THAT(exponential.deviation, WithinAbs(2, 0.1));
    CHECK(exponential.most > 10);
    const Draws uniform = drawn(delays(R"([{"seconds": 2, "distribution": "uniform"}])"), 3);
    CHECK_THAT(uniform.mean, WithinAbs(2, 0.025));
    CHECK_THAT(uniform.deviation, WithinAbs(4 / std::sqrt(12.0), 0.02));
    CHECK(uniform.least < 0.01);
    CHECK(uniform.most > 3.99);
    CHECK(uniform.most < 4);
    const Delays rare = delays(R"([{"seconds": 3, "probability": 0.125}])");
    CHECK_THAT(drawn(rare, 3).share, WithinAbs(0.125, 0.007));
    CHECK(drawn(rare, 3).most == 3);
    CHECK(rare.expected(3) == 0.375);
    CHECK(drawn(delays(R"([{"seconds": 3, "probability": 0}])"), 3).most == 0);
}

TEST_CASE("Delays are drawn from the stream of seed, rule, replica and iteration") {
    const Delays d = delays(
        R"([{"seconds": 9, "probability": 0}, {"seconds": 1, "distribution": "uniform"}])", 8, 42);
    base::Random random(42, base::Purpose::delay, {1, 6, 11});
    random.uniform();  // Decides if there is a delay.
    CHECK(d.seconds(6, 11) == 2 * random.uniform());
}

TEST_CASE("Draws are independent between replicas, iterations, rules and seeds") {
    const char* rule = R"([{"seconds": 1, "distribution": "uniform"}])";
    const Delays d = delays(rule), other = delays(rule, 8, 2);
    const Delays twice = delays(R"([{"seconds": 1, "distribution": "uniform"},
                                    {"seconds": 1, "distribution": "uniform"}])");
    double between = 0;  // Mean product of independent draws.
    for (int64_t t = 0; t < 20000; ++t) between += d.seconds(0, t) * d.seconds(1, t) / 20000;
    CHECK_THAT(between, WithinAbs(1, 0.03));
    CHECK(d.seconds(0, 1) != d.seconds(0, 2));
    CHECK(d.seconds(0, 1) != other.seconds(0, 1));
    CHECK(twice.seconds(0, 1) != 2 * d.seconds(0, 1));
}

TEST_CASE("Invalid delays are refused, and the message names the key") {
    CHECK_THAT(refusal_delays(R"([{"seconds": 1}, {"replicas": [0, 8], "seconds": 1}])"),
               ContainsSubstring("/delays/1/replicas: there is no replica 8 (of 8"));
    CHECK_THAT(refusal_delays(R"([{"replicas": [-1], "seconds": 1}])"),
               ContainsSubstring("/delays/0/replicas/0: -1 is out of range"));
    for (const char* bad :
         {R"([{"replicas": [], "seconds": 1}])", R"([{"replicas": 3, "seconds": 1}])",
          R"([{"replicas": "some", "seconds": 1}])"}) {
        CHECK_THAT(refusal_delays(bad),
                   ContainsSubstring("/delays/0/replicas: must be \"all\" or a list"));
    }
    CHECK_THAT(refusal_delays(R"([{"replicas": [0.5], "seconds": 1}])"),
               ContainsSubstring("/delays/0/replicas/0: must be a whole number"));
    CHECK_THAT(refusal_delays("[{}]"), ContainsSubstring("/delays/0/seconds: is missing"));
    CHECK_THAT(refusal_delays(R"([{"seconds": -0.1}])"),
               ContainsSubstring("/delays/0/seconds: -0.1"));
    CHECK_THAT(refusal_delays(R"([{"seconds": 1e9}])"), ContainsSubstring("at most 3600"));
    CHECK_THAT(refusal_delays(R"([{"seconds": 1, "probability": 1.5}])"),
               ContainsSubstring("/delays/0/probability: 1.5"));
    CHECK_THAT(refusal_delays(R"([{"seconds": 1, "distribution": "normal"}])"),
               ContainsSubstring("/delays/0/distribution: unknown value 'normal'"));
}

}  // namespace dbench::algorithms
