// norm_relu against batch_norm, add and relu of LibTorch: values, gradients, running statistics.
#include "train/models/layers/norm_relu.hpp"

#include "at_once.hpp"
#include "catch.hpp"

using dbench::train::norm_relu;
using dbench::train::takes_norm_relu;

namespace {

struct Case {
    torch::Tensor x, weight, bias, mean, variance, added;
};

/// Two leaves of the same values: one for each way of computing.
Case random_case(at::IntArrayRef shape, torch::ScalarType type, bool with_added) {
    const auto options = torch::TensorOptions().dtype(type);
    const auto channels = shape[1];
    Case c;
    c.x = (torch::randn(shape, options) * 3 + 5).contiguous(at::MemoryFormat::ChannelsLast);
    c.weight = torch::randn({channels}, options);
    c.bias = torch::randn({channels}, options);
    c.mean = torch::randn({channels}, options);
    c.variance = torch::rand({channels}, options);
    if (with_added) c.added = torch::randn(shape, options);  // not channels last
    return c;
}

Case leaves(const Case& from) {
    Case c;
    const auto leaf = [](const torch::Tensor& t) {
        return t.defined() ? t.detach().clone().requires_grad_(true) : t;
    };
    c.x = leaf(from.x), c.weight = leaf(from.weight), c.bias = leaf(from.bias);
    c.mean = from.mean.clone(), c.variance = from.variance.clone(), c.added = leaf(from.added);
    return c;
}

bool near(const torch::Tensor& a, const torch::Tensor& b, double tolerance) {
    return torch::allclose(a, b, tolerance, tolerance);
}

void compare(at::IntArrayRef shape, torch::ScalarType type, bool with_added, double tolerance,
             dbench::arena::Queue* queue = nullptr) {
    const Case origin = random_case(shape, type, with_added);
    Case ours = leaves(origin), theirs = leaves(origin);
    REQUIRE(takes_norm_relu(ours.x, queue));

    const torch::Tensor y = norm_relu(ours.x, {ours.weight, ours.bias, ours.mean, ours.variance},
                                      ours.added, 0.1, 1e-5, queue);
    torch::Tensor z = torch::batch_norm(theirs.x, theirs.weight, theirs.bias, theirs.mean,
                                        theirs.variance, true, 0.1, 1e-5, true);
    if (with_added) z = z + theirs.added;
    z = z.relu();
    const torch::Tensor upstream = torch::randn(shape, torch::TensorOptions().dtype(type));
    (y * upstream).sum().backward();
    (z * upstream).sum().backward();

    CHECK(near(y, z, tolerance));
    CHECK(near(ours.mean, theirs.mean, tolerance));
    CHECK(near(ours.variance, theirs.variance, tolerance));
    CHECK(near(ours.x.grad(), theirs.x.grad(), tolerance));
    CHECK(near(ours.weight.grad(), theirs.weight.grad(), 100 * tolerance));
    CHECK(near(ours.bias.grad(), theirs.bias.grad(), 100 * tolerance));
    if (with_added) CHECK(near(ours.added.grad(), theirs.added.grad(), tolerance));
}

}  // namespace

TEST_CASE("norm_relu is batch_norm, sum and relu") {
    torch::manual_seed(1);
    for (const bool with_added : {false, true}) {
        compare({4, 16, 8, 8}, torch::kFloat64, with_added, 1e-10);
        compare({3, 5, 7, 3}, torch::kFloat64, with_added, 1e-10);
        compare({2, 33, 2, 1}, torch::kFloat64, with_added, 1e-10);
        compare({8, 16, 16, 16}, torch::kFloat32, with_added, 1e-4);
    }
}

TEST_CASE("norm_relu is that on a queue, too, in four launches") {
    torch::manual_seed(1);
    for (const bool with_added : {false, true}) {
        dbench::train::AtOnce queue;
        compare({4, 16, 8, 8}, torch::kFloat64, with_added, 1e-10, &queue);
        CHECK(queue.launches == 4);
        compare({3, 34, 7, 3}, torch::kFloat64, with_added, 1e-10, &queue);
        compare({8, 16, 16, 16}, torch::kFloat32, with_added, 1e-4, &queue);
    }
}

TEST_CASE("norm_relu leaves other tensors to LibTorch") {
    CHECK_FALSE(takes_norm_relu(torch::randn({2, 3, 4, 4})));
    CHECK_FALSE(takes_norm_relu(torch::randn({2, 3})));
    dbench::train::AtOnce queue;
    const auto channels_last =
        torch::randn({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
    CHECK(takes_norm_relu(channels_last));
    CHECK_FALSE(takes_norm_relu(channels_last, &queue));  // three channels
}

TEST_CASE("norm_relu keeps NaN visible") {
    Case c = random_case({2, 4, 2, 2}, torch::kFloat32, false);
    c.x.index_put_({0, 1, 0, 0}, std::nanf(""));
    const torch::Tensor y = norm_relu(c.x, {c.weight, c.bias, c.mean, c.variance}, {}, 0.1, 1e-5);
    CHECK(y.select(1, 1).isnan().all().item<bool>());
    CHECK_FALSE(y.select(1, 0).isnan().any().item<bool>());
}
