// Tests of packs: each element is computed as it would be computed alone.

#include "arena/grid/pack.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

namespace dbench::arena {
namespace {

TEST_CASE("arithmetic of a pack equals arithmetic of its elements") {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> some = {0.1, -0.0, 3, kNan, 1e300, 0.0, -7, 2};
    const auto same = [](double a, double b) {
        return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
    };
    for (const double x : some) {
        for (const double y : some) {
            Pack<double, 2> a = x, b = y;
            a.of[1] = y, b.of[1] = 0.3;
            const double as[] = {x, y}, bs[] = {y, 0.3};
            Pack<double, 2> sum = a;
            sum += b;
            for (int k = 0; k < 2; ++k) {
                CHECK(same((a + b).of[k], as[k] + bs[k]));
                CHECK(same(sum.of[k], as[k] + bs[k]));
                CHECK(same((a - b).of[k], as[k] - bs[k]));
                CHECK(same((a * b).of[k], as[k] * bs[k]));
                CHECK(same((a / b).of[k], as[k] / bs[k]));
                CHECK(same((2.5 * a).of[k], 2.5 * as[k]));
                CHECK(same(sqrt(a).of[k], std::sqrt(as[k])));
                CHECK(same(larger(a, b).of[k], larger(as[k], bs[k])));
            }
        }
    }
    CHECK(std::isnan(larger(1.0, kNan)));
    CHECK(larger(kNan, 1.0) == 1);
}

TEST_CASE("elements can be accessed singly and as packs") {
    alignas(16) float memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const Elements<float> x(memory);
    const Elements<const float> y(memory);
    const Pack<float, 4> last = y[4 + PackIndex<4>{0}];
    CHECK(last.of[0] == 4);
    CHECK(last.of[3] == 7);
    x[PackIndex<4>{0}] = last;
    x[int64_t{5}] = 9;
    CHECK(std::vector<float>(memory, memory + 8) == std::vector<float>{4, 5, 6, 7, 4, 9, 6, 7});
}

}  // namespace
}  // namespace dbench::arena
