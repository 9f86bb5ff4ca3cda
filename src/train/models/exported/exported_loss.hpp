#pragma once  // Private to train/models/exported.
// The loss of an exported model: cross-entropy or squared errors, with auxiliary losses in
// training, or a loss function of the user as a graph.
//
// A model returns one tensor, but a loss may need several outputs of the graph. Then they are
// *packed*: row i has all numbers of sample i, output after output. A number that belongs to the
// whole batch stands in every row, and the first row is read.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/models/exported/exported_tensors.hpp"
#include "train/models/exported/file.hpp"
#include "train/models/exported/interpreter.hpp"
#include "train/models/model.hpp"
#include "train/torch.hpp"

namespace dbench::train {

class ExportedLoss {
public:
    /// `file` must outlive this object.
    explicit ExportedLoss(const ExportedFile& file);

    /// Returns the numbers of the outputs that the graph of training or of evaluation must compute.
    const std::vector<size_t>& outputs(bool training) const;
    /// Computes the outputs that `outputs(training)` names, with the training or the evaluation
    /// graph, for `samples` samples.
    using Results = std::function<std::vector<torch::Tensor>(bool training, int64_t samples)>;
    /// Learns the shapes of the outputs of the training graph from batches of two and of three
    /// samples, and checks that those of the evaluation graph have the shapes that the loss needs.
    /// Throws UserError.
    void learn(const Results& results);
    /// Returns the model's output for the results of a graph.
    torch::Tensor pack(const std::vector<torch::Tensor>& results, int64_t samples) const;
    /// Returns the logits (terms, classes), or the values (samples).
    torch::Tensor logits(const torch::Tensor& output) const;

    /// The functions of Model with the same names.
    torch::Tensor loss(const Model& model, const torch::Tensor& output, const data::Batch& batch,
                       double smoothing) const;
    torch::Tensor term_losses(const Model& model, const torch::Tensor& output,
                              const data::Batch& batch, double smoothing) const;

    /// True if the user's function computes the loss.
    bool own() const { return file_.loss.has_value(); }
    /// Returns why one call cannot compute the losses of several replicas; "" if it can.
    const std::string& obstacle() const { return obstacle_; }

private:
    /// One packed output.
    struct Part {
        bool single = false;       ///< One number for the batch.
        int64_t rows = 1;          ///< Rows of the output for each sample.
        std::vector<int64_t> row;  ///< The shape of a row.
        int64_t width = 1;         ///< Numbers for each sample.

        bool operator==(const Part&) const = default;
    };

    bool packs() const { return own() || !file_.manifest.auxiliary.empty(); }
    bool packed(const torch::Tensor& output) const;
    std::vector<torch::Tensor> unpack(const torch::Tensor& packed) const;
    torch::Tensor plain(const torch::Tensor& result) const;
    torch::Tensor term_losses_of(const Model& model, const torch::Tensor& values,
                                 const data::Batch& batch, double smoothing) const;
    torch::Tensor auxiliary(const Model& model, size_t k, const torch::Tensor& value,
                            const data::Batch& batch, double smoothing) const;
    std::vector<Part> parts_of(const std::vector<torch::Tensor>& trained,
                               const std::vector<torch::Tensor>& evaluated, int64_t samples) const;
    int64_t try_function(const torch::Tensor& output, int64_t samples);
    struct Targets;
    void require_constants() const;
    bool mixes_samples(const torch::Tensor& output, const Targets& targets) const;
    std::vector<torch::Tensor> inputs_of(const torch::Tensor& output,
                                         const data::Batch& batch) const;
    torch::Tensor evaluate(const torch::Tensor& output, const data::Batch& batch) const;

    const ExportedFile& file_;
    std::optional<Interpreter> function_;
    ConstantTensors constants_;              ///< The function's constants.
    std::vector<size_t> constant_of_input_;  ///< The number of each constant input's constant.
    std::vector<size_t> training_, evaluation_;
    std::vector<Part> parts_;
    int64_t width_ = 0;  ///< Columns of packed outputs.
    std::string obstacle_;
};

}  // namespace dbench::train
