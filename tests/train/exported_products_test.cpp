// Exported convolutions of few pixels and linear layers: they are products of matrices, and write
// the gradients of their weights to the given memory.
#include <string>
#include <vector>

#include "catch.hpp"
#include "train/models/exported/interpreter.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

ExportedArgument value_argument(const std::string& name, int slot) {
    return {name, ExportedArgument::Kind::plain, false, {Slot{slot}}};
}

ExportedArgument list_argument(const std::string& name, int64_t first, int64_t second) {
    return {name, ExportedArgument::Kind::plain, true, {first, second}};
}

/// A graph of one layer with the inputs x, weight and bias.
ExportedGraph layer_graph(bool convolution, bool twice) {
    ExportedGraph graph;
    graph.values = {"x", "weight", "bias", "y", "z"};
    graph.inputs = {{ExportedInput::Kind::user, 0, "x"},
                    {ExportedInput::Kind::parameter, 1, "weight"},
                    {ExportedInput::Kind::parameter, 2, "bias"}};
    ExportedNode node{
        convolution ? "torch.ops.aten.conv2d.default" : "torch.ops.aten.linear.default",
        {value_argument("input", 0), value_argument("weight", 1), value_argument("bias", 2)},
        {{false, {3}}}};
    if (convolution) {
        node.arguments.push_back(list_argument("stride", 1, 2));
        node.arguments.push_back(list_argument("padding", 1, 0));
        node.arguments.push_back(list_argument("dilation", 1, 2));
    }
    graph.nodes = {node};
    graph.outputs = {3};
    if (twice) {
        graph.nodes.push_back(
            {"torch.ops.aten.sum.default", {value_argument("self", 1)}, {{false, {4}}}});
        graph.outputs.push_back(4);
    }
    return graph;
}

struct Gradients {
    torch::Tensor y, weight, bias, x;
    bool direct;  ///< The gradient of the weight is in the given memory.
};

Gradients layer_gradients(const ExportedGraph& graph, std::vector<int64_t> shape,
                          std::vector<int64_t> weight_shape, bool own) {
    torch::manual_seed(1);
    const auto real = torch::TensorOptions(torch::kFloat64);
    torch::Tensor x = torch::randn(shape, real), weight = torch::randn(weight_shape, real);
    const torch::Tensor bias = torch::randn({weight_shape[0]}, real).requires_grad_(true);
    if (x.dim() == 4) x = x.contiguous(at::MemoryFormat::ChannelsLast);
    x.requires_grad_(true), weight.requires_grad_(true);
    const torch::Tensor memory = torch::zeros(weight_shape, real);
    const OwnLayers layers{arena::host_queue(), {{}, memory, {}}};
    const Interpreter interpreter(graph);
    std::vector<size_t> outputs(graph.outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) outputs[k] = k;
    const auto results = interpreter.run({x, weight, bias}, outputs, torch::kFloat64, torch::kCPU,
                                         nullptr, own ? &layers : nullptr);
    torch::Tensor loss = (results[0] * torch::randn(results[0].sizes(), real)).sum();
    if (results.size() > 1) loss = loss + results[1];
    loss.backward();
    return {results[0], weight.grad(), bias.grad(), x.grad(),
            weight.grad().data_ptr() == memory.data_ptr()};
}

void compare_layer(bool convolution, bool twice, std::vector<int64_t> shape,
                   std::vector<int64_t> weight_shape) {
    const ExportedGraph graph = layer_graph(convolution, twice);
    const auto ours = layer_gradients(graph, shape, weight_shape, true);
    const auto theirs = layer_gradients(graph, shape, weight_shape, false);
    CHECK(ours.direct == !twice);
    CHECK_FALSE(theirs.direct);
    CHECK(torch::allclose(ours.y, theirs.y, 1e-10, 1e-10));
    CHECK(torch::allclose(ours.weight, theirs.weight, 1e-10, 1e-10));
    CHECK(torch::allclose(ours.bias, theirs.bias, 1e-10, 1e-10));
    CHECK(torch::allclose(ours.x, theirs.x, 1e-10, 1e-10));
}

}  // namespace

TEST_CASE("Exported layers of few pixels and samples write their gradients in place") {
    const bool twice = GENERATE(false, true);  // also by another operator
    compare_layer(false, twice, {3, 7}, {5, 7});
    compare_layer(true, twice, {2, 3, 4, 7}, {64, 3, 3, 2});
}

TEST_CASE("A convolution of many pixels is LibTorch's") {
    const ExportedGraph graph = layer_graph(true, false);
    CHECK_FALSE(layer_gradients(graph, {2, 3, 9, 9}, {16, 3, 3, 2}, true).direct);
}
