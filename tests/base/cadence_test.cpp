#include "base/cadence.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

int64_t counted(const Cadence& cadence, int64_t iterations) {
    int64_t due = 0;
    for (int64_t t = 0; t < iterations; ++t) due += cadence.due(t);
    return due;
}

}  // namespace

TEST_CASE("A stage's interval is used until the first iteration of the next stage") {
    const Cadence cadence(std::vector<Cadence::Stage>{{10, 1}, {64, 7}, {.every = 500}});
    std::vector<int64_t> due;
    for (int64_t t = 0; t < 1200; ++t) {
        if (cadence.due(t)) due.push_back(t);
    }
    CHECK(due == std::vector<int64_t>{0,  1,  2,  3,  4,  5,  6,  7,  8,   9,
                                      14, 21, 28, 35, 42, 49, 56, 63, 500, 1000});
}

TEST_CASE("The number of due iterations is computed without a loop over the run") {
    for (const auto& stages :
         std::vector<std::vector<Cadence::Stage>>{{{.every = 1}},
                                                  {{.every = 7}},
                                                  {{3, 0}, {.every = 2}},
                                                  {{5, 2}, {17, 3}, {.every = 0}},
                                                  {{100, 9}, {.every = 4}},
                                                  {}}) {
        const Cadence cadence(stages);
        for (const int64_t length : {1, 2, 5, 6, 17, 18, 99, 100, 101, 1000}) {
            CAPTURE(stages.size(), length);
            CHECK(cadence.count(length) == counted(cadence, length));
        }
    }
    CHECK(Cadence(0).any_due() == false);
    CHECK(Cadence(7).mean_interval(700) == 7);
}

TEST_CASE("Stages can be given in iterations, samples or epochs") {
    const Json spec = Json::parse(R"([{"until": {"epochs": 2}, "every": {"iterations": 3}},
                                      {"until": {"samples": 800}, "every": null},
                                      {"until": null, "every": {"epochs": 1}}])");
    const Cadence cadence = to_cadence(to_stages(spec), "/profile/every", {1000, 10, 8});
    for (int64_t t = 0; t < 300; ++t) {
        CAPTURE(t);
        CHECK(cadence.due(t) == (t < 20 ? t % 3 == 0 : t >= 100 && t % 10 == 0));
    }
    const Json backwards = Json::parse(R"([{"until": {"epochs": 2}, "every": null},
                                           {"until": {"iterations": 20}, "every": null},
                                           {"until": null, "every": null}])");
    CHECK_THROWS_AS(to_cadence(to_stages(backwards), "/profile/every", {1000, 10, 8}), UserError);
}

}  // namespace dbench::base
