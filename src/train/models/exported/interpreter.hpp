#pragma once  // Private to train/models/exported.
// Computes an exported graph: calls its operators one after another through LibTorch's dispatcher,
// so that autograd, autocast and vmap work as for any other model.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arena/device/queue.hpp"
#include "train/models/exported/graph.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// The facts about a graph and its inputs. Inputs have the numbers of ExportedGraph::inputs.
struct GraphFacts {
    /// The running statistics of a normalisation, and their momentum; 0: it is not a number.
    struct Statistics {
        size_t mean, variance;
        double momentum;
    };
    std::vector<std::string> unknown;  ///< Operators that LibTorch does not have.
    bool changes = false;              ///< Some operator changes a tensor in place.
    bool draws = false;                ///< Some operator draws random numbers.
    bool convolves = false;            ///< It has convolutions of images.
    bool reads_strides = false;        ///< Some results depend on the order of tensors in memory.
    std::set<size_t> written;          ///< Inputs that operators change in place.
    std::set<size_t> norms;            ///< Inputs that scale or shift in a normalisation.
    /// The statistics of each BatchNorm.
    std::vector<Statistics> statistics;
    /// The first operator that vmap is not known to run; "": there is none.
    std::string unstacked;
};

/// The needs of operators that are computed as built-in models do, in less time: BatchNorm, an
/// optional sum and ReLU in one pass (layers/norm_relu.hpp), and layers with few pixels or
/// samples as products (layers/products.hpp). The tensors decide whether these accept them.
struct OwnLayers {
    arena::Queue& queue;  ///< See Weights.
    /// Memory for the gradient of each input of the graph; undefined if the input is no parameter,
    /// or if another input is the same parameter. Empty if no gradients are needed.
    std::vector<torch::Tensor> gradients;
};

class Interpreter {
public:
    /// Resolves the operators. `graph` must outlive this object. Operators that are not known are
    /// listed in facts(), and run() may then not be called. Throws UserError if arguments do not
    /// suit an operator. Operators that change only the buffers `unread` are left out.
    explicit Interpreter(const ExportedGraph& graph, const std::set<std::string>& unread = {});
    ~Interpreter();

    const GraphFacts& facts() const;

    /// Adds inputs to facts().written that operators change in place through results of others,
    /// such as type_as, whose schemas hide that a result may be their argument. Computes the graph
    /// on `inputs`, and changes them.
    void find_writes(std::vector<torch::Tensor> inputs, torch::ScalarType type,
                     torch::Device place);

    /// Computes the outputs with the numbers `outputs` from the graph's inputs. float32 constants
    /// and types are replaced by `type`; tensors are made on `place`. `least_normalised`: see
    /// Weights. If `own` is null, all operators are LibTorch's. All calls come from one thread.
    std::vector<torch::Tensor> run(std::vector<torch::Tensor> inputs,
                                   const std::vector<size_t>& outputs, torch::ScalarType type,
                                   torch::Device place, int64_t* least_normalised,
                                   const OwnLayers* own = nullptr) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
