#include "train/models/exported/plan.hpp"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "train/models/exported/fields.hpp"

namespace dbench::train {
namespace {

using c10::IValue;

/// Operators without results that only check what torch.export has already checked, among others
/// the types of float32 tensors, which a run in float64 changes.
bool is_assertion(const std::string& target) {
    for (const char* name : {"_assert_tensor_metadata", "_assert_scalar", "_assert_async",
                             "sym_constrain_range", "sym_constrain_range_for_size"}) {
        if (target.starts_with("torch.ops.aten." + std::string(name) + ".")) return true;
    }
    return false;
}

/// True if the operator's result depends on the order of its arguments in memory, and not only on
/// their values.
bool reads_strides(const std::string& plain) {
    for (const char* word : {"stride", "storage", "resize_", "is_contiguous"}) {
        if (plain.find(word) != plain.npos) return true;
    }
    return plain == "set_";
}

struct Target {
    std::string name, overload;  ///< For example aten::conv2d and "".
    std::string plain;           ///< For example conv2d.
};

/// Splits torch.ops.NAMESPACE.NAME.OVERLOAD; empty if the target has another form.
std::optional<Target> split_target(const std::string& target) {
    constexpr const char* kBegin = "torch.ops.";
    if (!target.starts_with(kBegin)) return std::nullopt;
    const size_t begin = std::char_traits<char>::length(kBegin), dot = target.find('.', begin);
    const size_t last = target.rfind('.');
    if (dot == target.npos || last <= dot) return std::nullopt;
    const std::string plain = target.substr(dot + 1, last - dot - 1);
    const std::string overload = target.substr(last + 1);
    return Target{target.substr(begin, dot - begin) + "::" + plain,
                  overload == "default" ? "" : overload, plain};
}

/// Returns the first argument of an operator if the operator changes it, as add_ does.
const ExportedArgument* changed_argument(const c10::FunctionSchema& schema,
                                         const ExportedNode& node) {
    if (schema.arguments().empty()) return nullptr;
    const c10::Argument& first = schema.arguments().front();
    if (first.alias_info() == nullptr || !first.alias_info()->isWrite()) return nullptr;
    const ExportedArgument* given = argument_of(node, first.name());
    return given == nullptr || given->list || !is_slot(given->items[0]) ? nullptr : given;
}

int slot_of(const ExportedArgument& argument) { return std::get<Slot>(argument.items[0]).index; }

/// Calls `use` with the number of each value that the argument reads.
template <class Use>
void each_slot(const ExportedArgument& argument, Use use) {
    for (const ExportedItem& item : argument.items) {
        if (is_slot(item)) use(std::get<Slot>(item).index);
    }
}

/// Makes a plan.
class Planner {
public:
    explicit Planner(GraphPlan& plan)
        : plan_(plan), graph_(plan.graph), facts_(plan.facts), steps_(plan.steps) {}

    void make(const std::set<std::string>& unread) {
        std::set<std::string> unknown;
        for (size_t k = 0; k < graph_.nodes.size(); ++k) add(k, unknown);
        facts_.unknown.assign(unknown.begin(), unknown.end());
        if (!facts_.unknown.empty()) return;
        leave_out(unread);
        find_facts();
        find_layers();
        combine();
        find_uses();
    }

private:
    void add(size_t k, std::set<std::string>& unknown) {
        const ExportedNode& node = graph_.nodes[k];
        if (is_assertion(node.target)) return;
        GraphStep step{k, std::nullopt, symbol_operator(node.target), {}, GraphStep::Special::none};
        if (step.symbol.function != nullptr) {
            add_symbol(node, step);
            return;
        }
        const auto target = split_target(node.target);
        if (target) {
            step.op = c10::Dispatcher::singleton().findSchema({target->name, target->overload});
        }
        if (!step.op) {
            unknown.insert(node.target);
            return;
        }
        if (target->name == "aten::batch_norm") step.special = GraphStep::Special::batch_norm;
        if (target->name == "aten::scaled_dot_product_attention") {
            step.special = GraphStep::Special::attention;
        }
        const c10::FunctionSchema& schema = step.op->schema();
        std::set<std::string> names;
        for (const c10::Argument& argument : schema.arguments()) {
            names.insert(argument.name());
            step.operands.push_back(resolve_argument(node, argument, plan_.where(k)));
        }
        for (const ExportedArgument& given : node.arguments) {
            if (!names.contains(given.name)) {
                refuse_export(plan_.where(k), "has no argument " + given.name);
            }
        }
        if (node.results.size() > schema.returns().size()) {
            refuse_export(plan_.where(k), "has fewer results than the file reads");
        }
        steps_.push_back(std::move(step));
    }

    void add_symbol(const ExportedNode& node, GraphStep& step) {
        for (const ExportedArgument& given : node.arguments) {
            if (given.list || given.items.size() != 1) {
                refuse_export(plan_.where(step.node), "computes with a list of sizes");
            }
            const bool slot = is_slot(given.items[0]);
            const IValue constant = constant_of(given.items[0]);
            if (!slot && !constant.isInt() && !constant.isDouble() && !constant.isBool()) {
                refuse_export(plan_.where(step.node),
                              "computes with something that is not a number");
            }
            step.operands.push_back(
                {slot ? Operand::Form::value : Operand::Form::constant, constant, given.items});
        }
        if (step.operands.size() != step.symbol.arguments || node.results.size() != 1) {
            refuse_export(plan_.where(step.node), "has another number of arguments");
        }
        steps_.push_back(std::move(step));
    }

    /// Calls `use` with every value that a step reads.
    template <class Use>
    void each_use(const GraphStep& step, Use use) const {
        for (const GraphStep& part : step.parts) each_use(part, use);
        if (!step.parts.empty()) return;
        for (const ExportedArgument& argument : graph_.nodes[step.node].arguments) {
            each_slot(argument, use);
        }
    }

    std::vector<int> count_uses() const {
        std::vector<int> uses(graph_.values.size());
        for (const GraphStep& step : steps_) each_use(step, [&](int slot) { ++uses[slot]; });
        for (const int output : graph_.outputs) {
            if (output >= 0) ++uses[output];
        }
        return uses;
    }

    /// Leaves out operators that change buffers that nothing reads, such as BatchNorm's counters of
    /// batches.
    void leave_out(const std::set<std::string>& unread) {
        std::set<int> values;
        for (const ExportedInput& input : graph_.inputs) {
            const bool buffer = input.kind == ExportedInput::Kind::buffer;
            if (buffer && unread.contains(input.name)) values.insert(input.slot);
        }
        std::vector<GraphStep> kept;
        for (GraphStep& step : steps_) {
            const ExportedNode& node = graph_.nodes[step.node];
            const ExportedArgument* changed =
                step.op ? changed_argument(step.op->schema(), node) : nullptr;
            if (changed == nullptr || !values.contains(slot_of(*changed))) {
                kept.push_back(std::move(step));
                continue;
            }
            for (const ExportedResult& result : node.results) {
                values.insert(result.slots.begin(), result.slots.end());
            }
        }
        steps_ = std::move(kept);
    }

    /// Finds convolutions and linear layers whose shape is fixed, and their weights.
    void find_layers() {
        const std::vector<int> uses = count_uses();
        std::map<int, int> inputs;  // by value
        for (size_t k = 0; k < graph_.inputs.size(); ++k) {
            inputs[graph_.inputs[k].slot] = static_cast<int>(k);
        }
        for (GraphStep& step : steps_) {
            if (!step.op) continue;
            const c10::OperatorName& name = step.op->operator_name();
            const bool convolution =
                name.name == "aten::conv2d" && name.overload_name.empty() && read_shape(step);
            if (!convolution && name.name != "aten::linear") continue;
            step.special =
                convolution ? GraphStep::Special::convolution : GraphStep::Special::linear;
            const ExportedArgument* weight = argument_of(graph_.nodes[step.node], "weight");
            if (weight == nullptr || weight->list || !is_slot(weight->items[0])) continue;
            const int slot = std::get<Slot>(weight->items[0]).index;
            if (inputs.contains(slot) && uses[slot] == 1) step.weight = inputs.at(slot);
        }
    }

    /// Reads the constants of a convolution. Returns false if they are none.
    static bool read_shape(GraphStep& step) {
        const auto fill = [&](size_t argument, std::array<int64_t, 2>& to) {
            const IValue& given = step.operands[argument].constant;
            if (!given.isIntList()) return false;
            const std::vector<int64_t> numbers = given.toIntVector();
            if (numbers.size() != 2) return false;
            to = {numbers[0], numbers[1]};
            return numbers[0] >= 0 && numbers[1] >= 0;
        };
        if (step.operands.size() != 7 || !step.operands[6].constant.isInt()) return false;
        step.shape.groups = step.operands[6].constant.toInt();
        return fill(3, step.shape.stride) && fill(4, step.shape.padding) &&
               fill(5, step.shape.dilation) && step.shape.stride[0] > 0 && step.shape.stride[1] > 0;
    }

    /// Replaces each BatchNorm, sum and ReLU that norm_relu may compute by one step.
    void combine() {
        std::vector<size_t> nodes;
        std::map<size_t, size_t> steps_of;  // by node
        for (const GraphStep& step : steps_) {
            steps_of[step.node] = nodes.size();
            nodes.push_back(step.node);
        }
        std::vector<bool> moved(steps_.size());
        const auto changes = [&](size_t node) {
            const GraphStep& step = steps_[steps_of.at(node)];
            return step.op && step.op->schema().is_mutable();
        };
        std::vector<std::pair<size_t, GraphStep>> combined;
        for (const NormReluNodes& found : find_norm_relus(graph_, nodes, changes)) {
            GraphStep step{found.relu, std::nullopt, {}, {}, GraphStep::Special::norm_relu};
            step.norm_relu = found;
            for (const std::optional<size_t> node :
                 {std::optional(found.norm), found.sum, std::optional(found.relu)}) {
                if (!node) continue;
                step.parts.push_back(steps_[steps_of.at(*node)]);
                moved[steps_of.at(*node)] = true;
            }
            combined.emplace_back(steps_of.at(found.relu), std::move(step));
        }
        for (auto& [place, step] : combined) {
            steps_[place] = std::move(step);
            moved[place] = false;
        }
        size_t place = 0;
        std::erase_if(steps_, [&](const GraphStep&) { return moved[place++]; });
    }

    void find_uses() {
        std::vector<bool> needed(graph_.values.size());
        for (const int output : graph_.outputs) {
            if (output >= 0) needed[output] = true;
        }
        for (size_t k = steps_.size(); k-- > 0;) {
            GraphStep& step = steps_[k];
            const auto last = [&](int slot) {
                if (!needed[slot]) step.unused.push_back(slot);
                needed[slot] = true;
            };
            for (const ExportedResult& result : graph_.nodes[step.node].results) {
                for (const int slot : result.slots) {
                    if (slot >= 0) last(slot);
                }
            }
            each_use(step, last);
        }
    }

    IValue constant_argument(const GraphStep& step, const char* name) const {
        const auto& arguments = step.op->schema().arguments();
        for (size_t k = 0; k < arguments.size(); ++k) {
            if (arguments[k].name() == name) return step.operands[k].constant;
        }
        return {};
    }

    bool constant_flag(const GraphStep& step, const char* name) const {
        const IValue value = constant_argument(step, name);
        return !value.isBool() || value.toBool();
    }

    bool positive(const GraphStep& step, const char* name) const {
        const IValue value = constant_argument(step, name);
        return !value.isDouble() || value.toDouble() > 0;
    }

    bool is_dropout(const std::string& plain) const { return plain.find("dropout") != plain.npos; }

    bool draws(const GraphStep& step, const std::string& plain) const {
        if (is_dropout(plain)) return positive(step, "p") && constant_flag(step, "train");
        if (plain == "scaled_dot_product_attention") return positive(step, "dropout_p");
        if (plain == "lstm" || plain == "gru" || plain.starts_with("rnn_")) {
            const IValue layers = constant_argument(step, "num_layers");
            return positive(step, "dropout") && constant_flag(step, "train") &&
                   !(layers.isInt() && layers.toInt() == 1);
        }
        if (plain == "rrelu" || plain == "rrelu_") return constant_flag(step, "training");
        return step.op->hasTag(at::Tag::nondeterministic_seeded);
    }

    void find_facts() {
        std::vector<int> root(graph_.values.size(), -1);  // The input that a value is a view of.
        for (size_t k = 0; k < graph_.inputs.size(); ++k) {
            root[graph_.inputs[k].slot] = static_cast<int>(k);
        }
        const auto root_of = [&](const ExportedArgument* argument) {
            if (argument == nullptr || argument->list || !is_slot(argument->items[0])) return -1;
            return root[std::get<Slot>(argument->items[0]).index];
        };
        for (const GraphStep& step : steps_) {
            if (!step.op) continue;
            const ExportedNode& node = graph_.nodes[step.node];
            const std::string plain = split_target(node.target)->plain;
            int view = -1;
            for (const c10::Argument& argument : step.op->schema().arguments()) {
                const int from = root_of(argument_of(node, argument.name()));
                if (from < 0 || argument.alias_info() == nullptr) continue;
                view = from;
                if (argument.alias_info()->isWrite()) facts_.written.insert(from);
            }
            if (is_dropout(plain)) view = root_of(argument_of(node, "input"));
            for (const ExportedResult& result : node.results) {
                for (const int slot : result.slots) {
                    if (slot >= 0) root[slot] = view;
                }
            }
            note_norms(step, node, plain, root_of);
            facts_.changes = facts_.changes || step.op->schema().is_mutable();
            facts_.draws = facts_.draws || draws(step, plain);
            facts_.convolves = facts_.convolves || plain == "conv2d" || plain == "convolution";
            facts_.reads_strides = facts_.reads_strides || reads_strides(plain);
        }
    }

    template <class RootOf>
    void note_norms(const GraphStep& step, const ExportedNode& node, const std::string& plain,
                    const RootOf& root_of) {
        if (plain.find("_norm") == plain.npos) return;
        for (const char* name : {"weight", "bias"}) {
            const int from = root_of(argument_of(node, name));
            if (from >= 0) facts_.norms.insert(static_cast<size_t>(from));
        }
        const char* trains = plain == "instance_norm" ? "use_input_stats" : "training";
        const int mean = root_of(argument_of(node, "running_mean"));
        const int variance = root_of(argument_of(node, "running_var"));
        if (mean < 0 || variance < 0) return;
        facts_.statistics.push_back({static_cast<size_t>(mean), static_cast<size_t>(variance),
                                     number_of(node, "momentum").value_or(0)});
        if (!constant_flag(step, trains)) return;
        facts_.written.insert(static_cast<size_t>(mean));
        facts_.written.insert(static_cast<size_t>(variance));
    }

    GraphPlan& plan_;
    const ExportedGraph& graph_;
    GraphFacts& facts_;
    std::vector<GraphStep>& steps_;
};

}  // namespace

GraphPlan::GraphPlan(const ExportedGraph& g, const std::set<std::string>& unread) : graph(g) {
    Planner(*this).make(unread);
}

std::map<std::string, BufferUse> buffer_uses(const ExportedGraph& graph) {
    std::map<std::string, BufferUse> uses;
    std::map<int, BufferUse*> buffers;  // by value
    for (const ExportedInput& input : graph.inputs) {
        if (input.kind == ExportedInput::Kind::buffer) buffers[input.slot] = &uses[input.name];
    }
    const auto read = [&](int slot) {
        if (buffers.contains(slot)) buffers.at(slot)->read = true;
    };
    for (const ExportedNode& node : graph.nodes) {
        const auto target = split_target(node.target);
        std::optional<c10::OperatorHandle> op;
        if (target) {
            op = c10::Dispatcher::singleton().findSchema({target->name, target->overload});
        }
        const ExportedArgument* changed = op ? changed_argument(op->schema(), node) : nullptr;
        if (changed != nullptr && !buffers.contains(slot_of(*changed))) changed = nullptr;
        bool constant = true;
        for (const ExportedArgument& argument : node.arguments) {
            if (&argument == changed) continue;
            constant = constant && std::ranges::none_of(argument.items, is_slot);
            each_slot(argument, read);
        }
        if (changed == nullptr) continue;
        BufferUse& use = *buffers.at(slot_of(*changed));
        use.counts = use.counts && constant && target->plain == "add_";
        // A run must draw the numbers that PyTorch draws, also if nothing reads them.
        use.read = use.read || op->hasTag(at::Tag::nondeterministic_seeded);
        for (const ExportedResult& result : node.results) {
            for (const int slot : result.slots) {
                if (slot >= 0) buffers[slot] = &use;
            }
        }
    }
    for (const int output : graph.outputs) read(output);
    return uses;
}

std::string GraphPlan::where(size_t node) const {
    return graph.where + ": operator " + std::to_string(node) + ", " + graph.nodes[node].target;
}

}  // namespace dbench::train
