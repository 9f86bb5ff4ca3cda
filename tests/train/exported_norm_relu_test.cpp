// Exported graphs with BatchNorm, a sum and ReLU: which nodes are computed in one pass, and that
// the pass computes what the operators compute.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "train/models/exported/interpreter.hpp"
#include "train/models/exported/norm_relu_nodes.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

ExportedArgument given(const std::string& name, ExportedItem item) {
    return {name, ExportedArgument::Kind::plain, false, {std::move(item)}};
}

/// A graph over two images x and y, in which BatchNorm reads x.
class Graph {
public:
    Graph() {
        for (const char* name : {"x", "y", "weight", "bias", "mean", "variance"}) {
            const std::string text = name;
            const auto kind = text.size() == 1 ? ExportedInput::Kind::user
                              : text == "mean" || text == "variance"
                                  ? ExportedInput::Kind::buffer
                                  : ExportedInput::Kind::parameter;
            graph.inputs.push_back({kind, slot(text), text});
        }
    }
    int slot(const std::string& name) {
        const auto found = std::find(graph.values.begin(), graph.values.end(), name);
        if (found == graph.values.end()) graph.values.push_back(name);
        const auto at = std::find(graph.values.begin(), graph.values.end(), name);
        return static_cast<int>(at - graph.values.begin());
    }
    ExportedNode& add(const std::string& target, const std::string& result,
                      std::vector<ExportedArgument> arguments) {
        graph.nodes.push_back(
            {"torch.ops.aten." + target, std::move(arguments), {{false, {slot(result)}}}});
        graph.outputs = {slot(result)};
        return graph.nodes.back();
    }
    ExportedItem value(const std::string& name) { return Slot{slot(name)}; }
    ExportedNode& norm(const std::string& result, bool training = true) {
        return add("batch_norm.default", result,
                   {given("input", value("x")), given("weight", value("weight")),
                    given("bias", value("bias")), given("running_mean", value("mean")),
                    given("running_var", value("variance")), given("training", training),
                    given("momentum", 0.3), given("eps", 0.01), given("cudnn_enabled", false)});
    }
    ExportedNode& sum(const std::string& target, const std::string& result, const std::string& a,
                      const std::string& b) {
        return add(target, result, {given("self", value(a)), given("other", value(b))});
    }
    ExportedNode& unary(const std::string& target, const std::string& result,
                        const std::string& of) {
        return add(target, result, {given("self", value(of))});
    }

    ExportedGraph graph;
};

size_t groups(const ExportedGraph& graph) {
    std::vector<size_t> nodes(graph.nodes.size());
    for (size_t k = 0; k < nodes.size(); ++k) nodes[k] = k;
    return find_norm_relus(graph, nodes,
                           [&](size_t node) {
                               return graph.nodes[node].target.find("_.") != std::string::npos;
                           })
        .size();
}

struct Computed {
    torch::Tensor y;
    std::vector<torch::Tensor> gradients, statistics;
    std::string function;  ///< The name of the output's autograd function.
};

Computed computed(const Graph& g, bool together, torch::ScalarType type, bool channels_last,
                  int64_t added_channels = 5) {
    torch::manual_seed(1);
    const auto options = torch::TensorOptions().dtype(type);
    const auto image = [&](int64_t channels) {
        const torch::Tensor x = torch::randn({3, channels, 4, 2}, options) * 2 + 1;
        return channels_last ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
    };
    std::vector<torch::Tensor> inputs{image(5), image(added_channels), torch::randn({5}, options),
                                      torch::randn({5}, options)};
    for (torch::Tensor& each : inputs) each.requires_grad_(true);
    Computed out;
    out.statistics = {torch::randn({5}, options), torch::rand({5}, options)};
    inputs.insert(inputs.end(), out.statistics.begin(), out.statistics.end());
    const Interpreter interpreter(g.graph);
    REQUIRE(interpreter.facts().unknown.empty());
    int64_t least = 1000;
    const OwnLayers own{arena::host_queue(), {}};
    out.y = interpreter.run(inputs, {0}, type, torch::kCPU, &least, together ? &own : nullptr)[0];
    out.function = out.y.grad_fn()->name();
    const torch::Tensor upstream = torch::randn(out.y.sizes(), options);
    (out.y * upstream).sum().backward();
    for (size_t k = 0; k < 4; ++k) {
        if (inputs[k].grad().defined()) out.gradients.push_back(inputs[k].grad());
    }
    return out;
}

bool in_one_pass(const Computed& c) { return c.function.find("NormRelu") != std::string::npos; }

bool agree(const Computed& a, const Computed& b, double tolerance) {
    const auto equal = [&](const torch::Tensor& x, const torch::Tensor& y) {
        return torch::allclose(x, y, tolerance, tolerance);
    };
    return a.gradients.size() == b.gradients.size() && equal(a.y, b.y) &&
           std::ranges::equal(a.gradients, b.gradients, equal) &&
           std::ranges::equal(a.statistics, b.statistics, equal);
}

/// Graphs whose nodes are computed together.
Graph suitable(int which) {
    Graph g;
    g.norm("n");
    if (which == 0) {
        g.unary("relu.default", "z", "n");
    } else if (which == 1) {
        g.unary("relu_.default", "z", "n");
    } else if (which == 2) {
        g.sum("add.Tensor", "s", "n", "y");
        g.unary("relu.default", "z", "s");
    } else if (which == 3) {
        g.sum("add.Tensor", "s", "y", "n");
        g.unary("relu_.default", "z", "s");
    } else {
        g.unary("neg.default", "m", "y");
        g.sum("add_.Tensor", "s", "n", "m");
        g.unary("relu_.default", "z", "s");
    }
    return g;
}

}  // namespace

TEST_CASE("BatchNorm, a sum and ReLU of an exported graph are one pass") {
    const int which = GENERATE(range(0, 5));
    const auto type = GENERATE(torch::kFloat32, torch::kFloat64);
    const Graph g = suitable(which);
    REQUIRE(groups(g.graph) == 1);
    const Computed ours = computed(g, true, type, true), theirs = computed(g, false, type, true);
    CHECK(in_one_pass(ours));
    CHECK_FALSE(in_one_pass(theirs));
    CHECK(agree(ours, theirs, type == torch::kFloat32 ? 2e-4 : 1e-11));
}

TEST_CASE("Tensors that the pass does not accept are computed by the operators") {
    const Graph g = suitable(2);
    const Computed plain = computed(g, false, torch::kFloat32, false);
    const Computed contiguous = computed(g, true, torch::kFloat32, false);
    CHECK_FALSE(in_one_pass(contiguous));
    CHECK(agree(contiguous, plain, 0));
    const Computed broadcast = computed(g, true, torch::kFloat64, true, 1);
    CHECK_FALSE(in_one_pass(broadcast));
    CHECK(agree(broadcast, computed(g, false, torch::kFloat64, true, 1), 0));
}

TEST_CASE("Nodes are computed apart if something else depends on them") {
    Graph g;
    SECTION("BatchNorm with the running statistics") {
        g.norm("n", false);
        g.unary("relu.default", "z", "n");
    }
    SECTION("BatchNorm's result is read twice") {
        g.norm("n");
        g.unary("relu.default", "r", "n");
        g.sum("add.Tensor", "z", "r", "n");
    }
    SECTION("BatchNorm's result is an output") {
        g.norm("n");
        g.unary("relu.default", "z", "n");
        g.graph.outputs.push_back(g.slot("n"));
    }
    SECTION("the running mean is read later") {
        g.norm("n");
        g.unary("relu.default", "r", "n");
        g.sum("add.Tensor", "z", "r", "mean");
    }
    SECTION("a tensor changes before the sum") {
        g.norm("n");
        g.unary("neg_.default", "m", "y");
        g.sum("add.Tensor", "s", "n", "y");
        g.unary("relu.default", "z", "s");
    }
    SECTION("the sum changes its other term") {
        g.norm("n");
        g.sum("add_.Tensor", "s", "y", "n");
        g.unary("relu.default", "z", "s");
    }
    SECTION("the sum has a factor") {
        g.norm("n");
        g.sum("add.Tensor", "s", "n", "y").arguments.push_back(given("alpha", int64_t(2)));
        g.unary("relu.default", "z", "s");
    }
    SECTION("BatchNorm has no scale") {
        g.norm("n").arguments[1].items = {std::monostate()};
        g.unary("relu.default", "z", "n");
    }
    SECTION("a region without gradients") {
        g.norm("n").gradients = false;
        g.unary("relu.default", "z", "n");
    }
    SECTION("a region without autocast") {
        g.norm("n");
        g.unary("relu.default", "z", "n").autocast = false;
    }
    CHECK(groups(g.graph) == 0);
}
