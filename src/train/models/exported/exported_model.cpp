#include "train/models/exported/exported_model.hpp"

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/json.hpp"
#include "train/models/exported/exported_loss.hpp"
#include "train/models/exported/exported_tensors.hpp"
#include "train/models/exported/fields.hpp"
#include "train/models/exported/file.hpp"
#include "train/models/exported/interpreter.hpp"
#include "train/models/exported/plan.hpp"

namespace dbench::train {
namespace {

std::string text_of_shape(const std::vector<int64_t>& shape) {
    std::string out;
    for (const int64_t size : shape) {
        if (!out.empty()) out += "x";
        out += std::to_string(size);
    }
    return out;
}

/// The tensor to which one input of a graph is bound.
struct Binding {
    enum class To : uint8_t { user, parameter, buffer, constant };
    To to;
    size_t index = 0;
    bool only = false;  ///< No other input is bound to this parameter.
};

constexpr int64_t kTriedSamples = 2;

/// Returns the buffers that no graph reads. Real numbers are among them only if they count, because
/// other statistics are results of a run.
std::set<std::string> unread_buffers(const ExportedFile& file) {
    std::map<std::string, BufferUse> uses = buffer_uses(file.train);
    for (const auto& [name, use] : buffer_uses(file.eval)) {
        BufferUse& all = uses[name];
        all.read = all.read || use.read;
        all.counts = all.counts && use.counts;
    }
    std::set<std::string> unread;
    for (const ExportedGraph* graph : {&file.train, &file.eval}) {
        for (const ExportedInput& input : graph->inputs) {
            if (input.kind != ExportedInput::Kind::buffer) continue;
            const BufferUse& use = uses.at(input.name);
            const bool real = is_real(file.tensor_of(*graph, input).type);
            if (!use.read && (use.counts || !real)) unread.insert(input.name);
        }
    }
    return unread;
}

class ExportedModel : public Model {
public:
    ExportedModel(ExportedFile file, MemoryFormat format, const ModelContext& context)
        : file_(std::move(file)),
          train_(file_.train, unread_),
          eval_(file_.eval, unread_),
          loss_(file_) {
        require_operators();
        require_data(context);
        require_batches();
        find_writes(context, file_.train, train_);
        find_writes(context, file_.eval, eval_);
        declare_parameters();
        declare_buffers();
        bind(file_.train, train_bindings_);
        bind(file_.eval, eval_bindings_);
        declaration_.draws = train_.facts().draws;
        declaration_.fixed_start = true;
        declaration_.own_loss = loss_.own();
        if (eval_.facts().draws) {
            refuse_model(file_.eval.where,
                         "draws random numbers (results of an evaluation would not follow from "
                         "the parameters)",
                         "use dropout modules, which model.eval() switches off");
        }
        if (format == MemoryFormat::channels_last ||
            (format == MemoryFormat::automatic && suits_channels_last(context))) {
            order_ = data::Order::channels_last;
        }
        try_out(context);
        declaration_.unstacked = stacking_obstacle(context);
        declaration_.stacks = declaration_.unstacked.empty();
    }

    torch::Tensor forward(const Weights& weights, const torch::Tensor& input,
                          bool training) const override {
        return loss_.pack(results(weights, input, training), input.size(0));
    }

    torch::Tensor logits(const torch::Tensor& output) const override {
        return loss_.logits(output);
    }
    torch::Tensor loss(const torch::Tensor& output, const data::Batch& batch,
                       double smoothing) const override {
        return loss_.loss(*this, output, batch, smoothing);
    }
    torch::Tensor term_losses(const torch::Tensor& output, const data::Batch& batch,
                              double smoothing) const override {
        return loss_.term_losses(*this, output, batch, smoothing);
    }
    torch::Tensor distance(const torch::Tensor& output, const torch::Tensor& teacher,
                           double temperature) const override {
        if (file_.manifest.classes > 0) {
            return Model::distance(loss_.logits(output), loss_.logits(teacher), temperature);
        }
        if (loss_.own()) return torch::mse_loss(output, teacher);
        return torch::mse_loss(loss_.logits(output), loss_.logits(teacher));
    }
    double correct(const torch::Tensor& output, const data::Batch& batch,
                   int64_t top) const override {
        return Model::correct(loss_.logits(output), batch, top);
    }

    data::Order order() const override { return order_; }

private:
    [[noreturn]] void refuse(const std::string& reason) const { refuse_export(file_.path, reason); }

    /// Computes the outputs of a graph that the loss needs.
    std::vector<torch::Tensor> results(const Weights& weights, const torch::Tensor& input,
                                       bool training) const {
        const ExportedGraph& graph = training ? file_.train : file_.eval;
        const Interpreter& interpreter = training ? train_ : eval_;
        const torch::ScalarType type = weights.parameters.front().scalar_type();
        require_batch(graph, input.size(0));
        const std::vector<torch::Tensor>& constants = constants_.on(type, input.device());
        std::vector<torch::Tensor> inputs;
        inputs.reserve(graph.inputs.size());
        for (const Binding& binding : training ? train_bindings_ : eval_bindings_) {
            switch (binding.to) {
                case Binding::To::user:
                    inputs.push_back(prepared(input, interpreter, inputs.size()));
                    break;
                case Binding::To::parameter:
                    inputs.push_back(weights.parameters[binding.index]);
                    break;
                case Binding::To::buffer:
                    inputs.push_back(weights.buffers[binding.index]);
                    break;
                case Binding::To::constant:
                    inputs.push_back(constants[binding.index]);
                    break;
            }
        }
        int64_t* const least = training ? weights.least_normalised : nullptr;
        const auto run = [&](const OwnLayers* own) {
            return interpreter.run(std::move(inputs), loss_.outputs(training), type, input.device(),
                                   least, own);
        };
        if (order_ != data::Order::channels_last) return run(nullptr);
        const OwnLayers own{weights.queue, gradients_of(weights, training)};
        return run(&own);
    }

    /// Returns the memory for the gradient of each input of a graph, as OwnLayers needs it.
    std::vector<torch::Tensor> gradients_of(const Weights& weights, bool training) const {
        std::vector<torch::Tensor> all;
        if (weights.gradients.empty()) return all;
        for (const Binding& binding : training ? train_bindings_ : eval_bindings_) {
            all.push_back(binding.only ? weights.gradients[binding.index] : torch::Tensor());
        }
        return all;
    }

    void require_operators() const {
        std::vector<std::string> all = train_.facts().unknown;
        all.insert(all.end(), eval_.facts().unknown.begin(), eval_.facts().unknown.end());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        if (all.empty()) return;
        std::string names;
        for (const std::string& name : all) names += (names.empty() ? "" : ", ") + name;
        throw base::UserError(file_.path +
                              ": uses operators that this program's LibTorch does not "
                              "have (" +
                              names +
                              "): replace them in the model by operators of "
                              "torch.nn, and export it again");
    }

    void require_data(const ModelContext& context) {
        const ExportManifest& m = file_.manifest;
        const auto mismatch = [&](const std::string& reason) {
            throw base::UserError("/model: " + file_.path + " does not suit the data (" + reason +
                                  "): choose other data, or export the model for these");
        };
        const bool tokens = m.input == ExportManifest::Input::tokens;
        if (tokens != context.tokens) {
            mismatch(tokens ? "it reads tokens, but the inputs are numbers"
                            : "it reads numbers, but the inputs are tokens");
        }
        if (!std::ranges::equal(m.inputs, context.inputs, {}, &data::InputPart::name,
                                &data::InputPart::name)) {
            const auto listed = [](const std::vector<data::InputPart>& parts) {
                base::Json names = base::Json::array();
                for (const data::InputPart& part : parts) names.push_back(part.name);
                return "\"inputs\": " + names.dump();
            };
            mismatch(m.inputs.empty()
                         ? "it reads one input, but the data have " + listed(context.inputs)
                         : "it reads the inputs of npz data with " + listed(m.inputs));
        }
        for (size_t k = 0; k < m.inputs.size(); ++k) {
            const data::InputPart &wanted = m.inputs[k], &given = context.inputs[k];
            const bool flat =
                given.shape.size() == 1 && data::numel(given.shape) == data::numel(wanted.shape);
            if (wanted.shape == given.shape || flat) continue;
            mismatch("its input " + wanted.name + " has the shape [" + text_of_shape(wanted.shape) +
                     "], but the array of the data has [" + text_of_shape(given.shape) + "]");
        }
        const bool flat = m.input == ExportManifest::Input::features && m.shape.size() == 1 &&
                          data::numel(m.shape) == data::numel(context.input_shape);
        if (m.shape != context.input_shape && !flat) {
            mismatch("it reads samples of " + text_of_shape(m.shape) + ", but the data have " +
                     text_of_shape(context.input_shape));
        }
        flattens_ = m.shape != context.input_shape;
        if ((m.classes == 0) != (context.classes == 0)) {
            mismatch(m.classes == 0 ? "it predicts real numbers, but the targets are classes"
                                    : "it predicts classes, but the targets are real numbers");
        }
        if (m.classes < context.classes || (!tokens && m.classes != context.classes)) {
            mismatch("it has " + std::to_string(m.classes) + (tokens ? " tokens" : " classes") +
                     ", but the data have " + std::to_string(context.classes));
        }
    }

    void require_batches() const {
        for (const ExportedGraph* graph : {&file_.train, &file_.eval}) {
            if (graph->most_batch && *graph->most_batch == graph->least_batch) {
                refuse_export(graph->where,
                              "accepts only batches of " + std::to_string(graph->least_batch) +
                                  " samples (torch.export has fixed the first dimension)");
            }
        }
    }

    void require_batch(const ExportedGraph& graph, int64_t count) const {
        if (count >= graph.least_batch && count <= graph.most_batch.value_or(count)) return;
        const std::string most =
            graph.most_batch ? " to " + std::to_string(*graph.most_batch) : " or more";
        throw base::UserError(graph.where + ": accepts batches of " +
                              std::to_string(graph.least_batch) + most +
                              " samples, but a batch has " + std::to_string(count) +
                              ": choose other batch sizes, or export the model again");
    }

    /// Finds the inputs that a graph changes, on samples of zeros and copies of all tensors.
    void find_writes(const ModelContext& context, const ExportedGraph& graph,
                     Interpreter& interpreter) const {
        if (!interpreter.facts().changes) return;
        const torch::NoGradGuard no_grad;
        std::vector<torch::Tensor> inputs;
        for (const ExportedInput& input : graph.inputs) {
            if (input.kind == ExportedInput::Kind::user) {
                inputs.push_back(
                    prepared(zero_samples(context, kTriedSamples), interpreter, inputs.size()));
                continue;
            }
            const torch::Tensor values = view_of(file_.tensor_of(graph, input));
            const bool row = input.kind == ExportedInput::Kind::parameter;
            inputs.push_back(
                values.to(row ? torch::kFloat32 : values.scalar_type(), false, /*copy=*/true));
        }
        try {
            interpreter.find_writes(std::move(inputs), torch::kFloat32, torch::kCPU);
        } catch (const base::UserError&) {
            return;  // try_out gives the reason.
        }
    }

    /// Calls `use` with the graph, the number and the kind of each input.
    template <class Use>
    void each_input(Use use) const {
        for (const auto& [graph, interpreter] :
             {std::pair(&file_.train, &train_), std::pair(&file_.eval, &eval_)}) {
            for (size_t k = 0; k < graph->inputs.size(); ++k) {
                use(graph->inputs[k], interpreter->facts(), k);
            }
        }
    }

    void declare_parameters() {
        std::set<std::string> norms;
        each_input([&](const ExportedInput& input, const GraphFacts& facts, size_t k) {
            if (facts.norms.contains(k)) norms.insert(input.name);
            if (input.kind == ExportedInput::Kind::parameter && facts.written.contains(k)) {
                refuse_model(file_.path, "changes the parameter " + input.name + " in place",
                             "change a copy of it, or register it as a buffer");
            }
        });
        std::vector<ExportedTensor> known;  // by the number of the parameter
        for (const std::string& name : file_.parameters) {
            const ExportedTensor& tensor = file_.weights.at(name);
            if (!is_real(tensor.type)) refuse("has the parameter " + name + " of whole numbers");
            if (std::ranges::find(tensor.sizes, 0) != tensor.sizes.end()) {
                refuse("has the parameter " + name + " without elements");
            }
            if (!tensor.trains) {
                refuse_model(file_.path,
                             "has the frozen parameter " + name +
                                 " (requires_grad is False, but replicas train all parameters)",
                             "register it as a buffer");
            }
            const auto found = std::ranges::find(known, tensor);
            parameters_[name] = static_cast<size_t>(found - known.begin());
            if (found != known.end()) continue;
            known.push_back(tensor);
            const bool bias = tensor.sizes.size() < 2 && name.ends_with("bias");
            const arena::TensorKind kind = norms.contains(name) ? arena::TensorKind::norm
                                           : bias               ? arena::TensorKind::bias
                                                                : arena::TensorKind::weight;
            declaration_.parameter({name, tensor.sizes, kind,
                                    [tensor](torch::Tensor& to) { to.copy_(view_of(tensor)); }});
        }
    }

    /// Buffers that the training graph changes become rows; others stay constant.
    void declare_buffers() {
        const ExportedGraph& graph = file_.train;
        const GraphFacts& facts = train_.facts();
        each_input([&](const ExportedInput& input, const GraphFacts& own, size_t k) {
            if (!own.written.contains(k)) return;
            if (input.kind == ExportedInput::Kind::constant) {
                refuse_model(file_.path, "changes the constant " + input.name,
                             "register it as a buffer");
            }
            if (input.kind == ExportedInput::Kind::buffer && &own == &eval_.facts()) {
                refuse_model(file_.path, "changes the buffer " + input.name + " in evaluation",
                             "change it only if self.training");
            }
        });
        const auto add = [&](size_t k, bool variance, double momentum) {
            const ExportedInput& input = graph.inputs[k];
            if (input.kind != ExportedInput::Kind::buffer || buffers_.contains(input.name)) return;
            const ExportedTensor& tensor = file_.tensor_of(graph, input);
            if (!is_real(tensor.type)) {
                refuse_model(file_.path,
                             "changes the buffer " + input.name +
                                 " of whole numbers and reads it again, but the state of a replica "
                                 "is real numbers",
                             "make it a float32 buffer, such as torch.zeros(()) instead of "
                             "torch.tensor(0) (BatchNorm needs a momentum that is not None)");
            }
            buffers_[input.name] = declaration_.buffers.size();
            declaration_.buffer(
                {input.name, tensor.sizes, 0, variance, view_of(tensor).clone(), momentum});
        };
        for (const auto& [mean, variance, momentum] : facts.statistics) {
            if (!facts.written.contains(mean)) continue;
            add(mean, false, momentum);
            add(variance, true, momentum);
        }
        for (const size_t k : facts.written) add(k, false, 0);
    }

    void bind(const ExportedGraph& graph, std::vector<Binding>& bindings) {
        for (const ExportedInput& input : graph.inputs) {
            if (input.kind == ExportedInput::Kind::user) {
                bindings.push_back({Binding::To::user});
            } else if (input.kind == ExportedInput::Kind::parameter) {
                bindings.push_back({Binding::To::parameter, parameters_.at(input.name)});
            } else if (buffers_.contains(input.name)) {
                bindings.push_back({Binding::To::buffer, buffers_.at(input.name)});
            } else {
                bindings.push_back(
                    {Binding::To::constant, constants_.add(file_.tensor_of(graph, input))});
            }
        }
        std::map<size_t, int> inputs;  // by parameter
        const auto is_parameter = [](const Binding& each) {
            return each.to == Binding::To::parameter;
        };
        for (const Binding& each : bindings) inputs[each.index] += is_parameter(each);
        for (Binding& each : bindings) each.only = is_parameter(each) && inputs[each.index] == 1;
    }

    /// Returns the batch as the graph reads it: a copy, if the graph changes it.
    torch::Tensor prepared(const torch::Tensor& input, const Interpreter& interpreter,
                           size_t number) const {
        torch::Tensor x = flattens_ ? input.flatten(1) : input;
        if (file_.manifest.input == ExportManifest::Input::tokens) x = x.to(torch::kInt64);
        return interpreter.facts().written.contains(number) ? x.clone() : x;
    }

    /// Returns the initial weights.
    Weights initial_weights() const {
        const torch::NoGradGuard no_grad;
        Weights weights;
        for (const ParameterInfo& info : declaration_.parameters) {
            torch::Tensor tensor = torch::empty(info.shape);
            info.initialise(tensor);
            weights.parameters.push_back(tensor);
        }
        for (const BufferInfo& info : declaration_.buffers) {
            weights.buffers.push_back(info.values.to(torch::kFloat32, false, /*copy=*/true));
        }
        return weights;
    }

    torch::Tensor zero_samples(const ModelContext& context, int64_t samples) const {
        std::vector<int64_t> shape{samples};
        shape.insert(shape.end(), context.input_shape.begin(), context.input_shape.end());
        const torch::Tensor zeros =
            torch::zeros(shape, context.tokens ? torch::kInt64 : torch::kFloat32);
        return order_ == data::Order::channels_last && shape.size() == 4
                   ? zeros.contiguous(at::MemoryFormat::ChannelsLast)
                   : zeros;
    }

    /// Returns why vmap cannot run the training graph for several replicas at once; "" if it can.
    std::string stacking_obstacle(const ModelContext& context) const {
        constexpr int64_t kMostTried = 1 << 24, kReplicas = 2;
        if (!declaration_.buffers.empty()) {
            return "operators of the exported model change the buffer " +
                   declaration_.buffers.front().name + " of one replica";
        }
        if (!loss_.obstacle().empty()) return loss_.obstacle();
        if (declaration_.draws) return "";  // It has an obstacle of its own.
        if (layout_of(declaration_).numel() > kMostTried) {
            return "the exported model has more than " + std::to_string(kMostTried) + " parameters";
        }
        Weights weights = initial_weights();
        for (torch::Tensor& each : weights.parameters) {
            each = torch::stack({each, each}).requires_grad_(true);
        }
        torch::Tensor input = zero_samples(context, kTriedSamples);
        input = torch::stack({input, input});
        const int64_t level = at::functorch::initAndPushDynamicLayer(
            at::functorch::TransformType::Vmap, kReplicas, at::functorch::RandomnessType::Error);
        std::string obstacle;
        try {
            for (torch::Tensor& each : weights.parameters) {
                each = at::functorch::makeBatched(each, 0, level);
            }
            forward(weights, at::functorch::makeBatched(input, 0, level), true);
        } catch (const std::exception& error) {
            const std::string text = error.what();
            obstacle = "LibTorch's vmap cannot run " + text.substr(0, text.find('\n'));
        }
        at::functorch::popDynamicLayerAndDeleteMetadata();
        return obstacle;
    }

    /// True if the graphs have convolutions of images, and accept images and weights of
    /// convolutions with channels last.
    bool suits_channels_last(const ModelContext& context) {
        if (context.input_shape.size() != 3 || !context.inputs.empty() || flattens_) return false;
        if (!train_.facts().convolves || train_.facts().reads_strides ||
            eval_.facts().reads_strides) {
            return false;
        }
        const torch::NoGradGuard no_grad;
        Weights weights = initial_weights();
        for (torch::Tensor& each : weights.parameters) {  // as ChannelsLastWeights orders them
            if (each.dim() == 4) each = each.contiguous(at::MemoryFormat::ChannelsLast);
        }
        order_ = data::Order::channels_last;
        bool accepted = true;
        try {
            for (const bool training : {false, true}) {
                results(weights, zero_samples(context, kTriedSamples), training);
            }
        } catch (const base::UserError&) {
            accepted = false;  // try_out gives the reason if it is not the order.
        }
        order_ = data::Order::contiguous;
        return accepted;
    }

    /// Computes both graphs for samples of zeros, so that mistakes are reported before a run.
    void try_out(const ModelContext& context) {
        const torch::NoGradGuard no_grad;
        const Weights weights = initial_weights();
        const auto try_samples = [&](bool training, int64_t samples) {
            return results(weights, zero_samples(context, samples), training);
        };
        loss_.learn(try_samples);
        const int64_t classes = file_.manifest.classes;
        if (classes == 0 && loss_.own()) return;
        const int64_t terms = kTriedSamples * (context.tokens ? context.input_shape.at(0) : 1);
        for (const bool training : {false, true}) {
            const torch::Tensor output =
                logits(loss_.pack(try_samples(training, kTriedSamples), kTriedSamples));
            const bool fits = classes == 0 ? output.numel() == terms
                                           : output.dim() == 2 && output.size(0) == terms &&
                                                 output.size(1) == classes;
            if (fits) continue;
            refuse_export((training ? file_.train : file_.eval).where,
                          "returns " + text_of_shape(output.sizes().vec()) + " numbers for " +
                              std::to_string(terms) + " labels instead of " +
                              std::to_string(terms) +
                              (classes == 0 ? "" : "x" + std::to_string(classes)));
        }
    }

    ExportedFile file_;
    const std::set<std::string> unread_ = unread_buffers(file_);
    Interpreter train_, eval_;
    ExportedLoss loss_;
    data::Order order_ = data::Order::contiguous;
    std::map<std::string, size_t> parameters_, buffers_;  // Numbers in the declaration, by name.
    std::vector<Binding> train_bindings_, eval_bindings_;
    ConstantTensors constants_;
    bool flattens_ = false;  ///< The graph reads a sample as a list of features.
};

}  // namespace

std::unique_ptr<Model> make_exported_model(const std::string& path, std::string bytes,
                                           MemoryFormat format, const ModelContext& context) {
    return std::make_unique<ExportedModel>(read_exported(path, std::move(bytes)), format, context);
}

}  // namespace dbench::train
