#pragma once
// A model is a function of a list of tensors: one object serves all replicas, whose parameters lie
// in the arena. Torch is included here; this header stays inside src/train/.

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "base/family.hpp"
#include "data/dataset.hpp"
#include "data/loader.hpp"

namespace dbench::train {

/// One replica's tensors, in the order declared.
struct Weights {
    std::vector<torch::Tensor> parameters;
    std::vector<torch::Tensor> buffers;  ///< BatchNorm: running mean, running variance, ...
    /// Where gradients of parameters are wanted, which a layer may write there itself, if no other
    /// uses the parameter; empty where none are wanted.
    std::vector<torch::Tensor> gradients = {};
    /// What layers carry over from batch to batch of a text: read and written by `forward`. Empty
    /// where nothing is: each batch begins from zero then.
    std::vector<torch::Tensor> carried = {};
    /// Where layers launch kernels of this program's between LibTorch's, forward and in backward;
    /// null: they are done at once, or left to LibTorch.
    arena::Queue* queue = nullptr;
};

/// What layers declare while a model is built.
struct ParameterInfo {
    std::string name;  ///< as PyTorch's named_parameters() would call it
    std::vector<int64_t> shape;
    arena::TensorKind kind;
    std::function<void(torch::Tensor&)> initialise;  ///< draws from torch's default generator
};
struct BufferInfo {
    std::string name;
    std::vector<int64_t> shape;
    double initial;
    bool variance;  ///< pooled as mean of variances + variance of the means in the buffer before it
};
/// A replica's own, in no average; zero where a text begins. Dimension 1 counts samples.
struct CarriedInfo {
    std::string name;
    std::vector<int64_t> shape;
};
struct Declaration {
    std::vector<ParameterInfo> parameters;
    std::vector<BufferInfo> buffers;
    std::vector<CarriedInfo> carried;
    bool draws = false;                 ///< in training, forward draws from torch's generator
    bool stacks = true;                 ///< LibTorch's vmap takes forward: see StackedPass
    int parameter(ParameterInfo info);  ///< its index
    int buffer(BufferInfo info);
    int carry(CarriedInfo info);
};

class Model {
public:
    virtual ~Model() = default;
    /// Inputs (B, C, H, W) or (B, features) to logits (B, classes), or predictions (B) for real
    /// targets; tokens (B, T) to logits (B T, classes), one row for each position; pairs of
    /// sentences (B, 2, T) to logits (terms, classes), one row for each label. `training`:
    /// BatchNorm uses and updates batch statistics, dropout drops.
    virtual torch::Tensor forward(const Weights& weights, const torch::Tensor& input,
                                  bool training) const = 0;
    /// The same where it is known how many terms the output has: on a card a model that leaves some
    /// out would have the host wait to count them.
    virtual torch::Tensor forward_terms(const Weights& weights, const torch::Tensor& input,
                                        int64_t /*terms*/, bool training) const {
        return forward(weights, input, training);
    }
    /// Mean loss over the batch's terms: cross-entropy of logits, of which the part `smoothing` is
    /// with all classes alike; real targets override it, without.
    virtual torch::Tensor loss(const torch::Tensor& output, const data::Batch& batch,
                               double smoothing = 0) const;
    /// The same of each term, [terms].
    virtual torch::Tensor term_losses(const torch::Tensor& output, const data::Batch& batch,
                                      double smoothing = 0) const;
    /// Mean over the rows of how far `output` is from a teacher's, see algorithms::Distillation:
    /// T^2 KL(softmax teacher / T || softmax output / T); real targets override it, without T.
    virtual torch::Tensor distance(const torch::Tensor& output, const torch::Tensor& teacher,
                                   double temperature) const;
    /// Number of labels among the `top` largest logits (of equal ones the first class wins); NaN
    /// for real targets.
    virtual double correct(const torch::Tensor& output, const data::Batch& batch,
                           int64_t top) const;
    /// The same of each of so many equal parts of the batch, as float64 [parts] where the output
    /// is; waits for no card.
    torch::Tensor correct_there(const torch::Tensor& output, const data::Batch& batch, int64_t top,
                                int64_t parts = 1) const;
    /// The most likely token, one after another, for each source of tokens (B, 2, T), up to
    /// kEndToken or, where that does not come, twice the source and ten; only of models for pairs
    /// of sentences.
    virtual std::vector<std::vector<int64_t>> translate(const Weights& weights,
                                                        const torch::Tensor& input) const;
    virtual data::Order order() const { return data::Order::contiguous; }  ///< of image batches

    const Declaration& declaration() const { return declaration_; }

protected:
    Declaration declaration_;
};

/// A batch's inputs as a tensor over its memory (no copy), logical shape. On a card a copy where
/// they do not lie there, which is there before what this thread does there next: from pinned
/// memory it may be made later.
torch::Tensor input_tensor(const data::Batch& batch, torch::Device place = torch::kCPU);
/// A batch's labels, the same way, [terms].
torch::Tensor label_tensor(const data::Batch& batch, torch::Device place = torch::kCPU);
/// A batch's real targets, the same way, [count].
torch::Tensor target_tensor(const data::Batch& batch, torch::Device place = torch::kCPU);
torch::ScalarType scalar_type(arena::DType type);

struct ModelContext {
    std::vector<int64_t> input_shape;
    int64_t classes;  ///< 0: real targets
    bool tokens = false;
    int64_t stream_batch = 0;  ///< samples of a batch that go on in the next; 0: they do not
};

/// A row of the model table. `make` throws UserError where the data do not suit the model.
struct ModelEntry : base::Entry {
    std::unique_ptr<Model> (*make)(const base::Json& spec, const ModelContext& context);
};
const std::vector<ModelEntry>& model_table();

/// The arena layout of a model's parameters.
arena::Layout layout_of(const Declaration& declaration);

}  // namespace dbench::train
