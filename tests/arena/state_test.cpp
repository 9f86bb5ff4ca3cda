#include "arena/state.hpp"

#include <stdexcept>

#include "catch.hpp"

namespace dbench::arena {
namespace {

TEST_CASE("the state table holds rows and bytes by name, in the order of declaration") {
    StateTable table(DType::float32, 4, 2, 48);
    const Rows parameters = table.rows("parameters");
    int64_t step = 3;
    table.value("step", step);
    const Rows narrow = table.rows("push_weight", 16);

    CHECK(parameters.first == 4);
    CHECK(parameters.count == 2);
    CHECK(parameters.stride == 48);
    CHECK(narrow.stride == 16);
    REQUIRE(table.entries().size() == 3);
    CHECK(table.entries()[0].name == "parameters");
    CHECK(table.entries()[0].buffer.rows().data == parameters.data);
    CHECK(table.entries()[1].data == &step);
    CHECK(table.entries()[1].size == sizeof step);
}

TEST_CASE("rows keep their address while more is declared") {
    StateTable table(DType::float64, 0, 1, 16);
    const Rows first = table.rows("state.0");
    first.row<double>(0)[3] = 2.5;
    for (int i = 1; i < 100; ++i) table.rows("state." + std::to_string(i));
    CHECK(table.entries()[0].buffer.rows().data == first.data);
    CHECK(first.row<double>(0)[3] == 2.5);
}

TEST_CASE("a name can be declared only once") {
    StateTable table(DType::float32, 0, 1, 16);
    int64_t cursor = 0;
    table.rows("momentum");
    CHECK_THROWS_AS(table.rows("momentum"), std::logic_error);
    CHECK_THROWS_AS(table.value("momentum", cursor), std::logic_error);
}

}  // namespace
}  // namespace dbench::arena
