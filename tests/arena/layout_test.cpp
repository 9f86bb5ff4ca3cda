#include "arena/layout.hpp"

#include "catch.hpp"

namespace dbench::arena {
namespace {

Layout example() {
    Layout layout;
    layout.add("conv.weight", {3, 5}, TensorKind::weight);
    layout.add("conv.bias", {16}, TensorKind::bias);
    layout.add("scale", {}, TensorKind::norm);
    layout.add("fc.weight", {2, 5000}, TensorKind::weight);
    return layout;
}

TEST_CASE("each tensor starts at a multiple of the alignment") {
    const Layout layout = example();
    REQUIRE(layout.tensors().size() == 4);
    const int64_t offsets[] = {0, 16, 32, 48};
    const int64_t numels[] = {15, 16, 1, 10000};
    for (size_t t = 0; t < 4; ++t) {
        CHECK(layout.tensors()[t].offset == offsets[t]);
        CHECK(layout.tensors()[t].numel == numels[t]);
    }
    CHECK(layout.numel() == 10032);
    CHECK(layout.columns() == 48 + 10000);
    CHECK(layout.all() == Columns{0, 10048});
}

TEST_CASE("segments divide tensors into blocks and never contain padding") {
    const Layout layout = example();
    const std::vector<Segment>& segments = layout.segments();
    REQUIRE(segments.size() == 3 + 3);
    CHECK(segments[0].end == 15);
    CHECK(segments[3].begin == 48);
    CHECK(segments[3].end == 48 + kBlock);
    CHECK(segments[5].begin == 48 + 2 * kBlock);
    CHECK(segments[5].end == 10048);
    CHECK(segments[5].tensor == 3);
}

TEST_CASE("segments and parameters in a range of columns") {
    const Layout layout = example();
    CHECK(layout.segments_in(layout.all()) == std::pair(0, 6));
    CHECK(layout.segments_in({16, 48}) == std::pair(1, 3));
    CHECK(layout.segments_in({48 + kBlock, layout.columns()}) == std::pair(4, 6));
    CHECK(layout.segments_in({16, 16}) == std::pair(1, 1));
    CHECK(layout.numel_in(layout.all()) == layout.numel());
    CHECK(layout.numel_in({0, 48}) == 15 + 16 + 1);
    CHECK(layout.numel_in({32, 48 + kBlock}) == 1 + kBlock);
}

TEST_CASE("tiles are the shortest runs of segments with at least the given width") {
    Layout layout;
    layout.add("w", {5 * kBlock + 3}, TensorKind::weight);
    using Tiles = std::vector<Columns>;
    const Columns all = layout.all();
    CHECK(layout.tiles(all, 2 * kBlock) ==
          Tiles{{0, 2 * kBlock}, {2 * kBlock, 4 * kBlock}, {4 * kBlock, all.end}});
    CHECK(layout.tiles(all, 2 * kBlock + 1) == Tiles{{0, 3 * kBlock}, {3 * kBlock, all.end}});
    CHECK(layout.tiles({kBlock, 3 * kBlock}, kBlock) ==
          Tiles{{kBlock, 2 * kBlock}, {2 * kBlock, 3 * kBlock}});
    CHECK(layout.tiles(all, all.end) == Tiles{all});
}

TEST_CASE("sums of segments become sums of tensors") {
    const Layout layout = example();
    const double segments[] = {1, 2, 4, 8, 16, 32};
    double tensors[] = {-1, -1, -1, -1};
    layout.sum_segments(segments, tensors);
    CHECK(tensors[0] == 1);
    CHECK(tensors[1] == 2);
    CHECK(tensors[2] == 4);
    CHECK(tensors[3] == 56);
}

TEST_CASE("a layout or a tensor may be empty") {
    Layout layout;
    CHECK(layout.columns() == 0);
    CHECK(layout.segments_in({0, 0}) == std::pair(0, 0));
    layout.add("none", {0, 3}, TensorKind::weight);
    layout.add("one", {1}, TensorKind::weight);
    CHECK(layout.segments().size() == 1);
    CHECK(layout.segments()[0].tensor == 1);
    CHECK(layout.tensors()[1].offset == 0);
}

TEST_CASE("the distance of long rows is not a power of two") {
    for (const int64_t numel : {16384, 1 << 20, (1 << 20) + 144, 1000000}) {
        Layout layout;
        layout.add("weight", {numel}, TensorKind::weight);
        CHECK(layout.columns() >= numel);
        CHECK(layout.columns() < numel + 1024);
        CHECK(layout.columns() % 1024 == 144);
        CHECK(layout.segments().back().end == numel);
        CHECK(layout.segments_in(layout.all()).second ==
              static_cast<int>(layout.segments().size()));
        CHECK(layout.numel_in(layout.all()) == numel);
    }
}

}  // namespace
}  // namespace dbench::arena
