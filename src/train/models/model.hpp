#pragma once
// The interface of models. A model is a function of a list of tensors: one object serves all
// replicas, whose parameters are stored in the arena.
//
// Each model has one file with its class and its entry, NAME_model(); table.cpp lists the entries;
// entry_helpers.hpp declares what the entries share; layers/ has the layers. This header includes
// LibTorch and may only be included inside src/train/.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/compatibility.hpp"
#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "base/factory_entry.hpp"
#include "data/dataset.hpp"
#include "data/loader.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// The tensors of one replica, in the order of their declaration.
struct Weights {
    std::vector<torch::Tensor> parameters;
    std::vector<torch::Tensor> buffers;  ///< BatchNorm: running mean, running variance, ...
    /// Memory for the parameters' gradients. A layer may write a gradient there directly if no
    /// other layer uses the parameter. Empty if no gradients are needed.
    std::vector<torch::Tensor> gradients = {};
    /// State that layers carry from batch to batch of a text; `forward` reads and updates it. Empty
    /// if none is carried: every batch then begins with a state of zero.
    std::vector<torch::Tensor> carried = {};
    /// Queue on which layers launch this program's kernels between LibTorch's, forward and
    /// backward. On the host's queue LibTorch's operations may replace them.
    std::reference_wrapper<arena::Queue> queue = arena::host_queue();
    /// Receives the smallest number of values per channel that a BatchNorm has normalised. May be
    /// null.
    int64_t* least_normalised = nullptr;
};

/// Descriptions of the tensors that layers declare while a model is built.
struct ParameterInfo {
    std::string name;  ///< The name in PyTorch's named_parameters().
    std::vector<int64_t> shape;
    arena::TensorKind kind;
    std::function<void(torch::Tensor&)> initialise;  ///< Draws from torch's default generator.
};
struct BufferInfo {
    std::string name;
    std::vector<int64_t> shape;
    double initial;
    /// Pooled as the mean of variances plus the variance of the means in the buffer before it.
    bool variance;
    torch::Tensor values = {};  ///< The initial values, if they are not all equal to `initial`.
    /// Momentum m of BatchNorm's running statistics, b <- (1 - m) b + m s; 0 for other buffers.
    double momentum = 0;
};
/// State that belongs to one replica and is never averaged; zero at the start of a text. Dimension
/// 1 counts samples.
struct CarriedInfo {
    std::string name;
    std::vector<int64_t> shape;
};
struct Declaration {
    std::vector<ParameterInfo> parameters;
    std::vector<BufferInfo> buffers;
    std::vector<CarriedInfo> carried;
    bool draws = false;                 ///< In training, forward draws from torch's generator.
    bool stacks = true;                 ///< LibTorch's vmap can run forward: see StackedPass.
    std::string unstacked = {};         ///< Why it cannot, if the reason is known.
    bool fixed_start = false;           ///< The initial values are given, not drawn.
    bool own_loss = false;              ///< The model has a loss function of its own.
    int parameter(ParameterInfo info);  ///< Returns its index, like the following two.
    int buffer(BufferInfo info);
    int carry(CarriedInfo info);
};

/// Stateless after construction: all tensors are arguments.
class Model {
public:
    virtual ~Model() = default;
    /// Maps inputs to outputs: (B, C, H, W) or (B, features) to logits (B, classes), or to
    /// predictions (B) for real targets; tokens (B, T) to logits (B T, classes), one row for each
    /// position; pairs of sentences (B, 2, T) to logits (terms, classes), one row for each label.
    /// `training`: BatchNorm uses and updates batch statistics, and dropout is active.
    virtual torch::Tensor forward(const Weights& weights, const torch::Tensor& input,
                                  bool training) const = 0;
    /// Does the same for a caller that knows the number of rows of the output. A model that omits
    /// some positions would otherwise make the host wait for the GPU to count them.
    virtual torch::Tensor forward_terms(const Weights& weights, const torch::Tensor& input,
                                        int64_t /*terms*/, bool training) const {
        return forward(weights, input, training);
    }
    /// Returns the logits (terms, classes) of an output, also of outputs of several replicas
    /// (R, rows, ...). Models whose outputs have more than logits override it.
    virtual torch::Tensor logits(const torch::Tensor& output) const { return output; }
    /// Returns the mean loss over the batch's terms: cross-entropy of the logits, in which the
    /// share `smoothing` of the target is spread evenly over all classes. Models for real targets
    /// override it and ignore `smoothing`.
    virtual torch::Tensor loss(const torch::Tensor& output, const data::Batch& batch,
                               double smoothing = 0) const;
    /// Returns the loss of each term, [terms].
    virtual torch::Tensor term_losses(const torch::Tensor& output, const data::Batch& batch,
                                      double smoothing = 0) const;
    /// Returns the mean over the rows of the distance between `output` and a teacher's output, see
    /// algorithms::Distillation: T^2 KL(softmax teacher / T || softmax output / T). Models for real
    /// targets override it and ignore T.
    virtual torch::Tensor distance(const torch::Tensor& output, const torch::Tensor& teacher,
                                   double temperature) const;
    /// Returns the number of labels that are among the `top` largest logits (of equal logits the
    /// one of the first class counts as larger); NaN for real targets.
    virtual double correct(const torch::Tensor& output, const data::Batch& batch,
                           int64_t top) const;
    /// Returns the same for each of `minibatches` equally large ones in the batch, as float64
    /// [minibatches] on the device of the logits. Does not wait for the GPU.
    torch::Tensor correct_on_device(const torch::Tensor& logits, const data::Batch& batch,
                                    int64_t top, int64_t minibatches = 1) const;
    /// Translates each source (B, 2, T) greedily, token by token, up to kEndToken or at most twice
    /// the source's length plus ten tokens. Only models for pairs of sentences implement it.
    virtual std::vector<std::vector<int64_t>> translate(const Weights& weights,
                                                        const torch::Tensor& input) const;
    /// Returns the memory order in which the model reads image batches.
    virtual data::Order order() const { return data::Order::contiguous; }

    const Declaration& declaration() const { return declaration_; }

protected:
    Declaration declaration_;
};

/// Returns a batch's inputs as a tensor of their logical shape over their memory, without a copy.
/// If they are not on `place`, it is a copy that is complete before later work of this thread on
/// that GPU; a copy from pinned memory may be asynchronous.
torch::Tensor input_tensor(const data::Batch& batch, torch::Device place = torch::kCPU);
/// Returns a batch's labels in the same way, [terms].
torch::Tensor label_tensor(const data::Batch& batch, torch::Device place = torch::kCPU);
/// Returns a batch's real targets in the same way, [count].
torch::Tensor target_tensor(const data::Batch& batch, torch::Device place = torch::kCPU);
torch::ScalarType scalar_type(arena::DType type);

struct ModelContext {
    std::vector<int64_t> input_shape;
    int64_t classes;  ///< 0: real targets.
    bool tokens = false;
    int64_t stream_batch = 0;  ///< Samples of a batch that continue in the next batch; 0: none do.
    /// The contents of the file that the model's spec names (model_file); null: it is read.
    std::shared_ptr<const std::string> file = nullptr;
    std::vector<data::InputPart> inputs = {};  ///< See data::DataSets.
};

/// An entry of the model table. `make(spec, context)` throws UserError if the data do not suit the
/// model.
using ModelEntry = base::FactoryEntry<std::unique_ptr<Model>(const ModelContext& context)>;
const std::vector<ModelEntry>& model_table();

/// Returns the smallest number of values per channel that any BatchNorm layer averages for one
/// sample of the shape. Runs one sample through the model. Precondition: the model has BatchNorm.
int64_t normalised_values(const Model& model, const std::vector<int64_t>& shape);

/// Returns the facts about a model that decide what it can be combined with.
algorithms::ModelFacts facts_of(const Model& model);

/// Returns the arena layout of a model's parameters.
arena::Layout layout_of(const Declaration& declaration);

}  // namespace dbench::train
