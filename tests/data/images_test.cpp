#include <algorithm>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "data/images.hpp"
#include "data/loader.hpp"
#include "data/slice.hpp"
#include "data/support.hpp"

using namespace dbench;
using data::Crop;
using data::Images;
using data::Order;

namespace {

// Two images (2, 5, 6) whose bytes all differ within an image and are never 0.
Images small_images() {
    Images images{2, 5, 6, test::Bytes(120), {3, 1}};
    for (size_t k = 0; k < 120; ++k) images.pixels[k] = static_cast<uint8_t>(1 + k);
    return images;
}

test::Bytes cropped(const Crop& crop, const test::Bytes& image) {
    test::Bytes out(image.size(), 99);
    data::apply_crop(crop, image.data(), 2, 5, 6, out.data());
    return out;
}

}  // namespace

TEST_CASE("pixels are normalised per channel, in both precisions") {
    const auto set = data::image_set(small_images(), 4, {{0.5, 0.25}, {0.2, 0.1}});
    CHECK(set->size() == 2);
    CHECK(set->shape() == std::vector<int64_t>{2, 5, 6});
    CHECK(set->label(0) == 3);
    const auto values = test::input_of(*set, 1);
    CHECK(values[0] == (61 / 255.0 - 0.5) / 0.2);
    CHECK(values[59] == (120 / 255.0 - 0.25) / 0.1);
    std::vector<float> single(60);
    set->input(1, arena::DType::float32, Order::contiguous, 0, single.data());
    CHECK(single[59] == static_cast<float>(values[59]));
}

TEST_CASE("unit gives pixel / 255 in the precision of the run") {
    const auto unit =
        data::chosen_normalization({data::Normalize::Kind::unit}, {{0.5, 0.25}, {0.2, 0.1}});
    const auto set = data::image_set(small_images(), 4, unit);
    std::vector<float> single(60);
    set->input(0, arena::DType::float32, Order::contiguous, 0, single.data());
    const auto values = test::input_of(*set, 0);
    for (int k = 0; k < 60; ++k) {
        CHECK(single[k] == static_cast<float>(k + 1) / 255.0F);
        CHECK(values[k] == (k + 1) / 255.0);
    }
}

TEST_CASE("channels_last holds the same values in another order") {
    const auto set = data::image_set(small_images(), 4, {{0.5, 0.25}, {0.2, 0.1}});
    for (const uint64_t key : {uint64_t{0}, uint64_t{77}}) {
        const auto planes = test::input_of(*set, 1, Order::contiguous, key);
        const auto pixels = test::input_of(*set, 1, Order::channels_last, key);
        for (int c = 0; c < 2; ++c) {
            for (int p = 0; p < 30; ++p) CHECK(pixels[p * 2 + c] == planes[c * 30 + p]);
        }
    }
}

TEST_CASE("inputs equal windows of the stored images, to the bit") {
    const auto set = data::image_set(small_images(), 4, {{0.5, 0.25}, {0.2, 0.1}});
    const auto whole = set->stored(), second = data::slice(set, 1, 1)->stored();
    REQUIRE((whole && second));
    CHECK(second->pictures.count == 1);
    const Order order = GENERATE(Order::contiguous, Order::channels_last);
    const auto planes = order == Order::contiguous ? arena::Planes::first : arena::Planes::last;
    std::vector<arena::Window> windows;
    std::vector<double> right;
    for (const uint64_t key : {uint64_t{0}, uint64_t{77}, uint64_t{5}, uint64_t{12}, uint64_t{9}}) {
        windows.push_back(data::window_of(0, key));
        const auto input = test::input_of(*set, 1, order, key);
        right.insert(right.end(), input.begin(), input.end());
    }
    std::vector<double> twice(right.size());
    arena::gather_windows(second->pictures, windows, second->twice, arena::DType::float64, planes,
                          twice.data());
    CHECK(twice == right);
    for (arena::Window& window : windows) window.picture = 1;
    std::vector<float> single(right.size());
    arena::gather_windows(whole->pictures, windows, whole->single, arena::DType::float32, planes,
                          single.data());
    for (size_t k = 0; k < right.size(); ++k) CHECK(single[k] == static_cast<float>(right[k]));
}

TEST_CASE("a crop is a window of the image padded by four zeros") {
    test::Bytes image = small_images().pixels;
    image.resize(60);
    CHECK(cropped({4, 4, false}, image) == image);
    for (const Crop& crop : {Crop{0, 0, false}, Crop{8, 8, true}, Crop{2, 7, true},
                             Crop{5, 1, false}, Crop{8, 0, false}, Crop{4, 4, true}}) {
        const test::Bytes out = cropped(crop, image);
        for (int64_t c = 0; c < 2; ++c) {
            for (int64_t y = 0; y < 5; ++y) {
                for (int64_t x = 0; x < 6; ++x) {
                    const int64_t row = y + crop.top - 4;
                    const int64_t column = (crop.mirrored ? 5 - x : x) + crop.left - 4;
                    const bool inside = row >= 0 && row < 5 && column >= 0 && column < 6;
                    const int wanted = inside ? image[(c * 5 + row) * 6 + column] : 0;
                    CHECK(out[(c * 5 + y) * 6 + x] == wanted);
                }
            }
        }
    }
}

TEST_CASE("crops are drawn from the key, and all are equally likely") {
    std::vector<int> top(9), left(9);
    int mirrored = 0;
    constexpr int kDraws = 9000;
    for (int k = 0; k < kDraws; ++k) {
        const Crop crop = data::draw_crop(data::augment_key(3, 0, k));
        REQUIRE((crop.top >= 0 && crop.top <= 8 && crop.left >= 0 && crop.left <= 8));
        ++top[crop.top];
        ++left[crop.left];
        mirrored += crop.mirrored;
    }
    // Five standard deviations of counts around 1000 and 4500.
    for (int k = 0; k < 9; ++k) {
        CHECK(std::abs(top[k] - 1000) < 150);
        CHECK(std::abs(left[k] - 1000) < 150);
    }
    CHECK(std::abs(mirrored - 4500) < 240);
}

TEST_CASE("augmentation keys differ by seed, epoch and sample") {
    std::set<uint64_t> keys;
    for (uint64_t seed = 0; seed < 4; ++seed) {
        for (int64_t epoch = 0; epoch < 4; ++epoch) {
            for (int64_t sample = 0; sample < 4; ++sample) {
                keys.insert(data::augment_key(seed, epoch, sample));
            }
        }
    }
    CHECK(keys.size() == 64);
    CHECK(keys.count(0) == 0);
    CHECK(data::augment_key(2, 3, 1) == data::augment_key(2, 3, 1));
}

TEST_CASE("images may have real targets") {
    Images images = small_images();
    images.labels.clear();
    images.targets = {-0.5, 2.25};
    const auto set = data::image_set(std::move(images), 0, {{0.5, 0.25}, {0.2, 0.1}});
    CHECK(set->size() == 2);
    CHECK(set->classes() == 0);
    CHECK(set->target(0) == -0.5);
    CHECK(set->target(1) == 2.25);
    CHECK(test::input_of(*set, 0)[0] == (1 / 255.0 - 0.5) / 0.2);
}

TEST_CASE("padding is black before normalisation") {
    const auto set = data::image_set(small_images(), 4, {{0.5, 0.25}, {0.2, 0.1}});
    uint64_t key = 1;
    while (data::draw_crop(key).top != 0) ++key;
    const auto values = test::input_of(*set, 0, Order::contiguous, key);
    CHECK(values[0] == (0 - 0.5) / 0.2);
    CHECK(values[30] == (0 - 0.25) / 0.1);
}
