// norm_relu compared with LibTorch's batch_norm, add and relu: values, gradients, running
// statistics.
#include "train/models/layers/norm_relu.hpp"

#include "catch.hpp"
#include "immediate_queue.hpp"

using dbench::train::accepts_norm_relu;
using dbench::train::norm_relu;

namespace {

struct NormReluCase {
    torch::Tensor x, weight, bias, mean, variance, added;
};

/// Makes random tensors. leaves() copies them for each of the two implementations.
NormReluCase random_case(at::IntArrayRef shape, torch::ScalarType type, bool with_added) {
    const auto options = torch::TensorOptions().dtype(type);
    const auto channels = shape[1];
    NormReluCase c;
    c.x = (torch::randn(shape, options) * 3 + 5).contiguous(at::MemoryFormat::ChannelsLast);
    c.weight = torch::randn({channels}, options);
    c.bias = torch::randn({channels}, options);
    c.mean = torch::randn({channels}, options);
    c.variance = torch::rand({channels}, options);
    if (with_added) c.added = torch::randn(shape, options);  // not in channels-last order
    return c;
}

NormReluCase leaves(const NormReluCase& from) {
    NormReluCase c;
    const auto leaf = [](const torch::Tensor& t) {
        return t.defined() ? t.detach().clone().requires_grad_(true) : t;
    };
    c.x = leaf(from.x), c.weight = leaf(from.weight), c.bias = leaf(from.bias);
    c.mean = from.mean.clone(), c.variance = from.variance.clone(), c.added = leaf(from.added);
    return c;
}

bool near_norm_relu(const torch::Tensor& a, const torch::Tensor& b, double tolerance) {
    return torch::allclose(a, b, tolerance, tolerance);
}

void compare_norm_relu(at::IntArrayRef shape, torch::ScalarType type, bool with_added,
                       double tolerance,
                       dbench::arena::Queue& queue = dbench::arena::host_queue()) {
    const NormReluCase origin = random_case(shape, type, with_added);
    NormReluCase ours = leaves(origin), theirs = leaves(origin);
    REQUIRE(accepts_norm_relu(ours.x, queue));

    const torch::Tensor y = norm_relu(ours.x, {ours.weight, ours.bias, ours.mean, ours.variance},
                                      ours.added, 0.1, 1e-5, queue);
    torch::Tensor z = torch::batch_norm(theirs.x, theirs.weight, theirs.bias, theirs.mean,
                                        theirs.variance, true, 0.1, 1e-5, true);
    if (with_added) z = z + theirs.added;
    z = z.relu();
    const torch::Tensor upstream = torch::randn(shape, torch::TensorOptions().dtype(type));
    (y * upstream).sum().backward();
    (z * upstream).sum().backward();

    CHECK(near_norm_relu(y, z, tolerance));
    CHECK(near_norm_relu(ours.mean, theirs.mean, tolerance));
    CHECK(near_norm_relu(ours.variance, theirs.variance, tolerance));
    CHECK(near_norm_relu(ours.x.grad(), theirs.x.grad(), tolerance));
    CHECK(near_norm_relu(ours.weight.grad(), theirs.weight.grad(), 100 * tolerance));
    CHECK(near_norm_relu(ours.bias.grad(), theirs.bias.grad(), 100 * tolerance));
    if (with_added) CHECK(near_norm_relu(ours.added.grad(), theirs.added.grad(), tolerance));
}

}  // namespace

TEST_CASE("norm_relu equals batch_norm, sum and relu") {
    torch::manual_seed(1);
    for (const bool with_added : {false, true}) {
        compare_norm_relu({4, 16, 8, 8}, torch::kFloat64, with_added, 1e-10);
        compare_norm_relu({3, 5, 7, 3}, torch::kFloat64, with_added, 1e-10);
        compare_norm_relu({2, 33, 2, 1}, torch::kFloat64, with_added, 1e-10);
        compare_norm_relu({8, 16, 16, 16}, torch::kFloat32, with_added, 1e-4);
    }
}

TEST_CASE("norm_relu on a queue gives the same in four launches") {
    torch::manual_seed(1);
    for (const bool with_added : {false, true}) {
        dbench::train::ImmediateQueue queue;
        compare_norm_relu({4, 16, 8, 8}, torch::kFloat64, with_added, 1e-10, queue);
        CHECK(queue.launches == 4);
        compare_norm_relu({3, 34, 7, 3}, torch::kFloat64, with_added, 1e-10, queue);
        compare_norm_relu({8, 16, 16, 16}, torch::kFloat32, with_added, 1e-4, queue);
    }
}

TEST_CASE("norm_relu leaves other tensors to LibTorch") {
    dbench::arena::Queue& host = dbench::arena::host_queue();
    CHECK_FALSE(accepts_norm_relu(torch::randn({2, 3, 4, 4}), host));
    CHECK_FALSE(accepts_norm_relu(torch::randn({2, 3}), host));
    dbench::train::ImmediateQueue queue;
    const auto channels_last =
        torch::randn({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
    CHECK(accepts_norm_relu(channels_last, host));
    CHECK_FALSE(accepts_norm_relu(channels_last, queue));  // three channels
}

TEST_CASE("norm_relu keeps NaN visible") {
    NormReluCase c = random_case({2, 4, 2, 2}, torch::kFloat32, false);
    c.x.index_put_({0, 1, 0, 0}, std::nanf(""));
    const torch::Tensor y = norm_relu(c.x, {c.weight, c.bias, c.mean, c.variance}, {}, 0.1, 1e-5,
                                      dbench::arena::host_queue());
    CHECK(y.select(1, 1).isnan().all().item<bool>());
    CHECK_FALSE(y.select(1, 0).isnan().any().item<bool>());
}
