#include "base/duration.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

namespace dbench::base {
namespace {

int64_t iterations(const char* text, int64_t per_epoch = 30, int64_t samples = 64) {
    return to_iterations(to_duration(Json::parse(text)), {0, per_epoch, samples});
}

}  // namespace

TEST_CASE("A duration is rounded up to whole iterations") {
    CHECK(iterations(R"({"iterations": 17})") == 17);
    CHECK(iterations(R"({"iterations": 1000000000000})") == 1000000000000);
    CHECK(iterations(R"({"iterations": 1000000000001})") == 1000000000001);
    CHECK(iterations(R"({"epochs": 2})") == 60);
    CHECK(iterations(R"({"epochs": 0.5})", 31) == 16);
    CHECK(iterations(R"({"samples": 128})") == 2);
    CHECK(iterations(R"({"samples": 129})") == 3);
    CHECK(iterations(R"({"samples": 1})") == 1);
    CHECK(iterations(R"({"epochs": 0})") == 0);
}

TEST_CASE("Rounding errors of a product do not add an iteration") {
    CHECK(1.1 * 50 > 55);  // True for floating-point numbers.
    CHECK(iterations(R"({"epochs": 1.1})", 50) == 55);
    for (int64_t per_epoch = 1; per_epoch <= 2000; ++per_epoch) {
        for (const int64_t tenths : {1, 2, 3, 7, 11, 29}) {
            const int64_t exact = (tenths * per_epoch + 9) / 10;
            const Json given = {{"epochs", static_cast<double>(tenths) / 10}};
            if (to_iterations(to_duration(given), {0, per_epoch, 1}) != exact) {
                CAPTURE(per_epoch, tenths);
                CHECK(to_iterations(to_duration(given), {0, per_epoch, 1}) == exact);
            }
        }
    }
}

TEST_CASE("A duration slightly above a whole number is rounded up") {
    CHECK(iterations(R"({"epochs": 1.000001})") == 31);
    CHECK(iterations(R"({"samples": 64000001})") == 1000001);
}

TEST_CASE("Absurd lengths stay inside an integer") {
    CHECK(iterations(R"({"epochs": 1e300})") == 1000000000000000);
}

}  // namespace dbench::base
